//! What a list is narrowed by: each thing that is asked for, how many vehicles have it, and the condition that it is.
//!
//! A filter by a field of the data has a column of its name, as its declaration says; nothing here knows which there are.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use forecourt_kernel::{BusinessId, Range, StoreResult, TextFilter, Timestamp};
use forecourt_vehicles::{FieldFilter, StatusChoice, VehicleFilter, Wanted};

use super::counts::{self, Count, Groups};
use super::span::Span;
use super::{Conn, Db, dialect};
use crate::models::{KEY_CHARS, key_of};
use crate::schema::{lead_vehicles, vehicle_channels, vehicle_facts, vehicle_tags, vehicles};

/// A condition on vehicles, to be joined to others.
pub(super) type Clause = Box<dyn BoxableExpression<vehicle_facts::table, Db, SqlType = Bool>>;

/// More texts than this are not named one by one.
pub(super) const MANY_TEXTS: usize = 1000;
/// About as many vehicles have what hardly two have in common.
const FEW: i64 = 2;

/// What a vehicle must have.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Test {
    /// This text in a column.
    Text(&'static str, String),
    /// This number in a column.
    Number(&'static str, i64),
    /// One of these texts in a column.
    AnyText(&'static str, Vec<String>),
    /// A text in a column that matches a pattern.
    Like(&'static str, String),
    /// A number in a column, within a range.
    Within(&'static str, Range<i64>),
    /// This channel.
    Channel(String),
    /// The tag of this name.
    TagName(String),
    /// This code.
    Tag(String),
    /// This lead.
    Lead(i64),
    /// A text too long for its column.
    Whole(&'static str, Wanted),
}

/// Whether the condition is to find the vehicles, or to be looked at where they were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Finds,
    Passes,
}

/// Something that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) test: Test,
    /// How many vehicles have it; at most, if it is not exact.
    pub(super) vehicles: i64,
    /// The same, among those of the stock type and the state that are asked for.
    pub(super) of_kind: Option<i64>,
}

impl Asked {
    /// What few vehicles have.
    const fn few(test: Test) -> Self {
        Self {
            test,
            vehicles: FEW,
            of_kind: None,
        }
    }

    fn counted(test: Test, counts: &[Count]) -> Self {
        Self {
            test,
            vehicles: counts.iter().map(|count| count.vehicles).sum(),
            of_kind: Some(counts.iter().map(|count| count.of_kind).sum()),
        }
    }

    fn at_most(self) -> Self {
        Self { of_kind: None, ..self }
    }

    /// Whether an index holds the vehicles that have it in the order of lists.
    pub(super) const fn is_in_order(&self) -> bool {
        matches!(self.test, Test::Text(..) | Test::Number(..))
    }
}

/// What `filter` asks for, but for `created`, which is a range of ids: see [`super::span`].
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    /// The stock type and the state.
    pub(super) kind: Vec<Asked>,
    /// Everything else.
    pub(super) rest: Vec<Asked>,
    /// How many vehicles are of the stock type and the state.
    pub(super) of_kind: i64,
}

impl Question {
    /// None if it is known that no vehicle passes.
    pub(super) async fn of(conn: &mut Conn, business: BusinessId, filter: &VehicleFilter) -> StoreResult<Option<Self>> {
        let VehicleFilter {
            kind,
            status,
            registration,
            tag,
            owner,
            channel,
            tag_name,
            created: _,
            updated,
            lead,
            fields,
        } = filter;
        let mut asker = Asker { conn, business, filter };
        let mut question = Self::default();
        if kind.is_some() || status.is_some() {
            let kinds = counts::kinds(asker.conn, business).await?;
            let sum = |filter: &VehicleFilter| {
                let passing = kinds
                    .iter()
                    .filter(|(kind, status, _)| counts::is_of(filter, kind, status));
                passing.map(|(_, _, vehicles)| vehicles).sum()
            };
            question.of_kind = sum(filter);
            if let Some(kind) = kind {
                let only = VehicleFilter {
                    kind: Some(*kind),
                    ..VehicleFilter::default()
                };
                question.kind.push(Asked {
                    test: Test::Text("kind", kind.key().to_owned()),
                    vehicles: sum(&only),
                    of_kind: None,
                });
            }
            if let Some(status) = status {
                let only = VehicleFilter {
                    status: Some(*status),
                    ..VehicleFilter::default()
                };
                question.kind.push(Asked {
                    test: match status {
                        StatusChoice::Name(status) => Test::Text("status", status.name().to_owned()),
                        StatusChoice::Id(id) => Test::Number("status_id", i64::from(*id)),
                    },
                    vehicles: sum(&only),
                    of_kind: None,
                });
            }
            if question.of_kind == 0 {
                return Ok(None);
            }
        }
        let rest = &mut question.rest;
        if let Some(registration) = registration {
            rest.push(Asked::few(Test::Text("registration", registration.clone())));
        }
        if let Some(tag) = tag {
            rest.push(Asked::few(Test::Tag(tag.to_string())));
        }
        if let Some(lead) = lead {
            rest.push(Asked::few(Test::Lead(lead.get())));
        }
        if let Some(owner) = owner {
            let counts = asker.term(counts::OWNER, owner.to_string()).await?;
            rest.push(Asked::counted(Test::Number("owner", owner.get()), &counts));
        }
        if let Some(Range { from, to }) = updated {
            let range = Range {
                from: from.map(Timestamp::epoch_seconds),
                to: to.map(Timestamp::epoch_seconds),
            };
            rest.push(asker.range(counts::UPDATED, range, counts::stamp_part).await?);
        }
        for FieldFilter { name, wanted } in fields {
            match wanted {
                Wanted::Within(range) => rest.push(asker.number(name, *range).await?),
                Wanted::AnyOf(texts) => rest.extend(asker.texts(name, texts).await?),
                Wanted::Text(TextFilter::Exact(text)) => {
                    rest.extend(asker.texts(name, std::slice::from_ref(text)).await?);
                }
                Wanted::Text(TextFilter::Wildcard(pattern)) => rest.extend(asker.pattern(name, pattern).await?),
            }
        }
        // Last, since they are looked up elsewhere.
        if let Some(channel) = channel {
            let counts = asker.term(counts::CHANNEL, channel.clone()).await?;
            rest.push(Asked::counted(Test::Channel(channel.clone()), &counts));
        }
        if let Some(name) = tag_name {
            let counts = asker.term(counts::TAG_NAME, name.clone()).await?;
            rest.push(Asked::counted(Test::TagName(name.clone()), &counts));
        }
        let possible = rest.iter().all(|asked| asked.of_kind.unwrap_or(asked.vehicles) > 0);
        Ok(possible.then_some(question))
    }

    /// Everything that is asked for.
    pub(super) fn all(&self) -> impl Iterator<Item = &Asked> {
        self.kind.iter().chain(&self.rest)
    }

    /// The only thing that is asked for, if there is but one.
    pub(super) fn only(&self) -> Option<&Asked> {
        let mut all = self.all();
        all.next().filter(|_| all.next().is_none())
    }

    /// What fewest vehicles have, if an index of it is the way to find those that pass: of several things none is, if each is
    /// common among the business's `vehicles`.
    pub(super) fn finder(&self, vehicles: i64) -> Option<&Asked> {
        let indexed = self
            .all()
            .filter(|asked| !matches!(asked.test, Test::Whole(..) | Test::Like(..)));
        let narrowest = indexed.min_by_key(|asked| asked.vehicles)?;
        let alone = self.only().is_some();
        (alone || narrowest.vehicles <= vehicles / dialect::WORTH_FINDING).then_some(narrowest)
    }

    /// The conditions, of which `finder` is to find the vehicles. They need hold only for those in `span`.
    pub(super) fn clauses(&self, business: BusinessId, finder: Option<&Asked>, span: Span) -> Vec<Clause> {
        let clause = |asked: &Asked| {
            let finds = finder.is_some_and(|finder| finder.test == asked.test);
            asked
                .test
                .clause(business, if finds { Role::Finds } else { Role::Passes }, span)
        };
        self.all().map(clause).collect()
    }
}

/// Finds out how many vehicles have what is asked for.
struct Asker<'a> {
    conn: &'a mut Conn,
    business: BusinessId,
    filter: &'a VehicleFilter,
}

impl Asker<'_> {
    async fn read(&mut self, name: &str, groups: Groups<'_>) -> StoreResult<Vec<Count>> {
        counts::read(self.conn, self.business, name, groups, self.filter).await
    }

    async fn term(&mut self, name: &str, term: String) -> StoreResult<Vec<Count>> {
        self.read(name, Groups::Terms(vec![term])).await
    }

    /// One of some texts.
    async fn texts(&mut self, name: &'static str, texts: &[String]) -> StoreResult<Vec<Asked>> {
        let whole = texts.iter().any(|text| is_long(text));
        let whole = whole.then(|| Test::Whole(name, Wanted::AnyOf(texts.to_vec())));
        let mut keys: Vec<String> = texts.iter().map(|text| key_of(text)).collect();
        let asked = if counts::has_terms(name) {
            let counts = self.read(name, Groups::Terms(keys)).await?;
            Asked::counted(any_of(name, &counts), &counts)
        } else if let [_] = keys.as_slice() {
            Asked::few(Test::Text(name, keys.remove(0)))
        } else {
            Asked::few(Test::AnyText(name, keys))
        };
        Ok(match whole {
            Some(whole) => vec![asked.at_most(), Asked::few(whole)],
            None => vec![asked],
        })
    }

    /// A text that matches a pattern.
    async fn pattern(&mut self, name: &'static str, pattern: &str) -> StoreResult<Vec<Asked>> {
        if !counts::has_terms(name) {
            let wanted = Wanted::Text(TextFilter::Wildcard(pattern.to_owned()));
            return Ok(vec![Asked {
                vehicles: i64::MAX,
                ..Asked::few(Test::Whole(name, wanted))
            }]);
        }
        let counts = counts::matching(self.conn, self.business, name, pattern, self.filter).await?;
        let asked = Asked::counted(any_of(name, &counts), &counts);
        if counts.iter().any(|count| is_long(&count.term)) {
            let wanted = Wanted::Text(TextFilter::Wildcard(pattern.to_owned()));
            let whole = Asked::few(Test::Whole(name, wanted));
            return Ok(vec![asked.at_most(), whole]);
        }
        if matches!(&asked.test, Test::AnyText(_, texts) if texts.len() > MANY_TEXTS) {
            let test = Test::Like(name, pattern.to_owned());
            return Ok(vec![Asked { test, ..asked }]);
        }
        Ok(vec![asked])
    }

    /// A number of a field.
    async fn number(&mut self, name: &'static str, range: Range<i64>) -> StoreResult<Asked> {
        if counts::has_parts(name) {
            return self.range(name, range, counts::part).await;
        }
        Ok(Asked::few(within(name, range)))
    }

    /// A number within a range.
    async fn range(&mut self, name: &'static str, range: Range<i64>, part: fn(i64) -> i64) -> StoreResult<Asked> {
        let Range { from, to } = range;
        let parts = Groups::Parts(from.map_or(i64::MIN, part), to.map_or(i64::MAX, part));
        let counts = self.read(name, parts).await?;
        let asked = Asked::counted(within(name, range), &counts);
        let begins = from.is_none_or(|from| part(from) == from);
        let ends = to
            .and_then(|to| to.checked_add(1))
            .is_none_or(|next| part(next) == next);
        Ok(if begins && ends { asked } else { asked.at_most() })
    }
}

/// The texts of these counts.
fn any_of(name: &'static str, counts: &[Count]) -> Test {
    let mut texts: Vec<String> = counts.iter().map(|count| count.term.clone()).collect();
    texts.sort_unstable();
    texts.dedup();
    match <[String; 1]>::try_from(texts) {
        Ok([text]) => Test::Text(name, text),
        Err(texts) => Test::AnyText(name, texts),
    }
}

fn within(name: &'static str, range: Range<i64>) -> Test {
    match range {
        Range {
            from: Some(from),
            to: Some(to),
        } if from == to => Test::Number(name, from),
        range => Test::Within(name, range),
    }
}

/// Whether there may be more of a text than its column has.
fn is_long(text: &str) -> bool {
    text.chars().count() >= KEY_CHARS
}

impl Test {
    fn clause(&self, business: BusinessId, role: Role, span: Span) -> Clause {
        match self {
            Self::Text(name, text) => Box::new(
                sql::<Bool>(&column(name, role))
                    .sql(" = ")
                    .bind::<Text, _>(text.clone()),
            ),
            Self::Number(name, number) => {
                Box::new(sql::<Bool>(&column(name, role)).sql(" = ").bind::<BigInt, _>(*number))
            }
            Self::AnyText(name, texts) => Box::new(sql::<Text>(&column(name, role)).eq_any(texts.clone())),
            Self::Like(name, pattern) => Box::new(sql::<Text>(&column(name, role)).like(like(pattern)).escape('\\')),
            Self::Within(name, Range { from, to }) => {
                let column = || sql::<BigInt>(&column(name, role));
                match (from, to) {
                    (Some(from), Some(to)) => Box::new(column().ge(*from).and(column().le(*to))),
                    (Some(from), None) => Box::new(column().ge(*from)),
                    (None, Some(to)) => Box::new(column().le(*to)),
                    (None, None) => Box::new(sql::<Bool>(&self::column(name, role)).sql(" IS NOT NULL")),
                }
            }
            Self::Channel(channel) => {
                let published = vehicle_channels::table
                    .filter(vehicle_channels::business_id.eq(business.get()))
                    .filter(vehicle_channels::channel.eq(channel.clone()));
                match role {
                    Role::Finds => Box::new(vehicle_facts::id.eq_any(published.select(vehicle_channels::vehicle_id))),
                    Role::Passes => Box::new(diesel::dsl::exists(
                        published
                            .filter(vehicle_channels::vehicle_id.eq(vehicle_facts::id))
                            // Lest it seem wise to read them all, of however few vehicles they are asked for.
                            .filter(vehicle_channels::vehicle_id.between(span.first, span.last)),
                    )),
                }
            }
            Self::TagName(name) => {
                let tagged = vehicle_tags::table
                    .filter(vehicle_tags::business_id.eq(business.get()))
                    .filter(vehicle_tags::name.eq(name.clone()));
                match role {
                    Role::Finds => Box::new(vehicle_facts::id.eq_any(tagged.select(vehicle_tags::vehicle_id))),
                    Role::Passes => Box::new(diesel::dsl::exists(
                        tagged
                            .filter(vehicle_tags::vehicle_id.eq(vehicle_facts::id))
                            // Lest it seem wise to read them all, of however few vehicles they are asked for.
                            .filter(vehicle_tags::vehicle_id.between(span.first, span.last)),
                    )),
                }
            }
            Self::Tag(tag) => {
                let named = vehicles::table
                    .filter(vehicles::business_id.eq(business.get()))
                    .filter(vehicles::tag.eq(tag.clone()));
                Box::new(vehicle_facts::id.eq_any(named.select(vehicles::id)))
            }
            Self::Lead(lead) => {
                let concerned = lead_vehicles::table
                    .filter(lead_vehicles::business_id.eq(business.get()))
                    .filter(lead_vehicles::lead_id.eq(*lead));
                Box::new(vehicle_facts::id.eq_any(concerned.select(lead_vehicles::vehicle_id)))
            }
            Self::Whole(name, wanted) => {
                let text = || sql::<Text>(&format!("({} ->> '{name}')", dialect::VEHICLE_KEYS));
                match wanted {
                    Wanted::Text(TextFilter::Wildcard(pattern)) => Box::new(text().like(like(pattern)).escape('\\')),
                    Wanted::Text(TextFilter::Exact(exact)) => Box::new(text().eq(exact.clone())),
                    Wanted::AnyOf(texts) => Box::new(text().eq_any(texts.clone())),
                    Wanted::Within(_) => Box::new(sql::<Bool>("false")),
                }
            }
        }
    }
}

/// The column of that name.
fn column(name: &str, role: Role) -> String {
    match role {
        Role::Finds => format!("vehicle_facts.\"{name}\""),
        Role::Passes => format!("{}vehicle_facts.\"{name}\"", dialect::NO_INDEX),
    }
}

/// A pattern as LIKE takes it: `%` is a wildcard, and nothing else is.
pub(super) fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}
