//! Measures one page of a filtered list that shows the number of matching records: with each documented filter for the first
//! time, again, and while records of the list are written. It also measures the pages of a walk through the whole list.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::feed::walk;
use super::measure::{Bench, median, percentile, timed};
use super::neighbour::join;
use super::report::Row;
use crate::error::Result;
use crate::http::Client;

/// The filters of leads, and the members of a lead that they match.
const LEADS: [Filter; 13] = [
    Filter::exact("site", "/site"),
    Filter::exact("status", "/status/name"),
    Filter::exact("channel", "/channel"),
    Filter::exact("reference", "/reference"),
    Filter::exact("name", "/name"),
    Filter::part("name", "/name"),
    Filter::exact("email", "/email"),
    Filter::part("email", "/email"),
    Filter::exact("phone", "/phone"),
    Filter::exact("mobile", "/mobile"),
    Filter::exact("rating_min", "/rating"),
    Filter::month("created", "/created"),
    Filter::month("updated", "/updated"),
];

/// The filters of vehicles.
const VEHICLES: [Filter; 16] = [
    Filter::exact("type", "/type"),
    Filter::exact("status", "/status/name"),
    Filter::exact("registration", "/registration"),
    Filter::exact("tag", "/tag"),
    Filter::exact("reference", "/data/stock/reference"),
    Filter::exact("number", "/data/stock/number"),
    Filter::exact("make", "/data/vehicle/make"),
    Filter::exact("model", "/data/vehicle/model"),
    Filter::part("model", "/data/vehicle/model"),
    Filter::exact("derivative", "/data/vehicle/derivative"),
    Filter::exact("fuel", "/data/vehicle/fuel"),
    Filter::exact("transmission", "/data/vehicle/transmission"),
    Filter::exact("body", "/data/vehicle/body"),
    Filter::exact("colour", "/data/vehicle/colour"),
    Filter::month("created", "/created"),
    Filter::month("updated", "/updated"),
];

/// The value of a record's member that a filter is given.
enum Given {
    Value,
    /// The longest of its words between wildcards.
    Part,
    /// The 30 days before it.
    Month,
}

struct Filter {
    name: &'static str,
    pointer: &'static str,
    given: Given,
}

impl Filter {
    const fn exact(name: &'static str, pointer: &'static str) -> Self {
        let given = Given::Value;
        Self { name, pointer, given }
    }

    const fn part(name: &'static str, pointer: &'static str) -> Self {
        let given = Given::Part;
        Self { name, pointer, given }
    }

    const fn month(name: &'static str, pointer: &'static str) -> Self {
        let given = Given::Month;
        Self { name, pointer, given }
    }

    /// Returns the parameter that finds one of the records; none of them may have the member that it matches.
    fn of(&self, records: &[Value]) -> Option<String> {
        let values = records.iter().filter_map(|record| record.pointer(self.pointer));
        let texts = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let mut texts = texts.filter(|text| !["", "null"].contains(&&**text));
        let name = self.name;
        Some(match self.given {
            Given::Value => format!("{name}={}", encoded(&texts.next()?)),
            Given::Part => {
                let longest = |text: String| text.split_whitespace().max_by_key(|word| word.len()).map(str::to_owned);
                // A pattern has at least three characters.
                let word = texts.filter_map(longest).find(|word| word.chars().count() >= 3)?;
                format!("{name}=%25{}%25", encoded(&word))
            }
            Given::Month => {
                let last: i64 = texts.next()?.parse().ok()?;
                format!("{name}[]={}&{name}[]={last}", last - 30 * 24 * 60 * 60)
            }
        })
    }
}

fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}

impl Bench<'_> {
    pub(super) fn filters(&mut self) -> Result<()> {
        let client = self.client(0);
        let leads = parameters(client, "leads", &LEADS)?;
        let vehicles = parameters(client, "vehicles", &VEHICLES)?;
        let pairs = [paths("leads", &pairs(&leads)), paths("vehicles", &pairs(&vehicles))].concat();
        let leads = paths("leads", &leads);
        let lists = [leads.clone(), paths("vehicles", &vehicles)].concat();
        let (first, slowest_first) = slowest(&lists, |list| milliseconds(client, list))?;
        let (again, slowest_again) = slowest(&lists, |list| {
            let times = (0..9).map(|_| milliseconds(client, list));
            Ok(median(times.collect::<Result<Vec<_>>>()?))
        })?;
        let (of_pairs, slowest_pair) = slowest(&pairs, |list| milliseconds(client, list))?;
        let written = self.while_leads_are_written(&leads)?;
        let walked = walk(client, "/2.0/leads", 50, |_| {})?;
        let of_million = self.options.leads.max(self.options.vehicles) > 100_000;
        let most = |few: [f64; 2], many: [f64; 2]| if of_million { many } else { few };
        let name = format!("page with total, first, slowest of {}: {slowest_first}", lists.len());
        self.at_most(&name, first, "ms", most([10.0, 25.0], [150.0, 250.0]));
        let name = format!("the same, unchanged: {slowest_again}");
        self.at_most(&name, again, "ms", most([2.0; 2], [5.0; 2]));
        let name = "the same of leads, 200 a second written, p99";
        self.at_most(name, percentile(written, 99), "ms", most([25.0; 2], [250.0; 2]));
        let name = format!("the same, first, slowest of {} pairs: {slowest_pair}", pairs.len());
        let row = Row::new(name, of_pairs, "ms");
        self.add(if of_million { row } else { row.at_most(60.0) });
        let name = "page by cursor, from first to last, p99";
        self.at_most(name, percentile(walked, 99), "ms", [2.0; 2]);
        Ok(())
    }

    fn while_leads_are_written(&self, lists: &[String]) -> Result<Vec<f64>> {
        const INTERVAL: Duration = Duration::from_millis(5);
        let client = self.client(0);
        let end = Instant::now() + Duration::from_secs(self.options.seconds.into());
        let write = || -> Result<()> {
            let mut next = Instant::now();
            while next < end {
                client.create(
                    "/2.0/leads",
                    &json!({"name": "Ann Smith", "email": "ann@buyer.example"}),
                )?;
                next += INTERVAL;
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let writer = scope.spawn(write);
            let mut times = Vec::new();
            for list in lists.iter().cycle() {
                if writer.is_finished() {
                    break;
                }
                times.push(milliseconds(client, list)?);
            }
            join(writer)?;
            Ok(times)
        })
    }
}

/// Returns a parameter for each filter that matches one of a list's newest records.
fn parameters(client: Client<'_>, list: &str, filters: &[Filter]) -> Result<Vec<String>> {
    let page = client.get_json(&format!("/2.0/{list}"))?;
    let records = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(filters.iter().filter_map(|filter| filter.of(records)).collect())
}

/// Returns each two parameters that have different names.
fn pairs(parameters: &[String]) -> Vec<String> {
    fn name(parameter: &str) -> Option<&str> {
        parameter.split('=').next()
    }
    let pairs = parameters.iter().enumerate().flat_map(|(number, one)| {
        let others = parameters[number + 1..].iter().filter(|other| name(one) != name(other));
        others.map(move |other| format!("{one}&{other}"))
    });
    pairs.collect()
}

/// Returns the path of the first page of a list, filtered by each of the parameters.
fn paths(list: &str, parameters: &[String]) -> Vec<String> {
    let path = |parameter| format!("/2.0/{list}?{parameter}");
    parameters.iter().map(path).collect()
}

/// Returns the longest of the lists' times, and its list.
fn slowest(lists: &[String], time: impl Fn(&str) -> Result<f64>) -> Result<(f64, String)> {
    let mut longest = (0.0, String::new());
    for list in lists {
        let took = time(list)?;
        if took > longest.0 {
            longest = (took, list.trim_start_matches("/2.0/").to_owned());
        }
    }
    Ok(longest)
}

fn milliseconds(client: Client<'_>, path: &str) -> Result<f64> {
    timed(client, path).map(|(_, took)| took)
}
