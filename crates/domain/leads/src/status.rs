//! The states of a lead and its transitions (contract, "States and transitions", Lead).

use std::str::FromStr;

use forecourt_kernel::{Date, ValidationErrors};
use serde::{Deserialize, Serialize};

/// The status of a lead. Its code, 0 to 5, is stored and shown as `status.id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum LeadStatus {
    /// The lead is new.
    #[default]
    New,
    /// A message arrived that has not been read.
    NewMessage,
    /// It has been read.
    Read,
    /// A reply has been sent.
    Replied,
    /// Finished, for now or for good.
    Closed,
    /// Not an enquiry.
    Junk,
}

impl LeadStatus {
    /// All statuses, in the order of the codes.
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::NewMessage,
        Self::Read,
        Self::Replied,
        Self::Closed,
        Self::Junk,
    ];

    /// The code, 0 to 5.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::NewMessage => "new_message",
            Self::Read => "read",
            Self::Replied => "replied",
            Self::Closed => "closed",
            Self::Junk => "junk",
        }
    }

    /// The status with that code.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| i64::from(status.code()) == code)
    }

    /// The status with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl From<LeadStatus> for u8 {
    fn from(status: LeadStatus) -> Self {
        status.code()
    }
}

impl TryFrom<u8> for LeadStatus {
    type Error = &'static str;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        Self::from_code(code.into()).ok_or("a lead status is 0 to 5")
    }
}

/// Reads a code or a name, as in the list's filter.
impl FromStr for LeadStatus {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let by_code = || text.parse().ok().and_then(Self::from_code);
        Self::from_name(text)
            .or_else(by_code)
            .ok_or("must be a status code from 0 to 5 or a status name")
    }
}

/// The change that `PATCH /2.0/leads/{id}/status` requests, before it is validated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatusChange {
    /// The status to take, from any current one.
    pub status: Option<LeadStatus>,
    /// Set to mark or unmark the lead as junk.
    pub junk: Option<bool>,
    /// Set to close or reopen the lead.
    pub closed: Option<bool>,
    /// The day on which it reopens; ignored without `closed: true`.
    pub reopen: Option<Date>,
    /// Set to count the lead toward reports, or not.
    pub stat: Option<bool>,
}

/// A validated [`StatusChange`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusMove {
    to: Target,
    /// The new value of the lead's `stat`; `None` does not change it.
    pub stat: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Stay,
    Status(LeadStatus),
    Closed { reopen: Option<Date> },
}

impl StatusChange {
    /// Validates that the requested changes are compatible.
    ///
    /// # Errors
    /// `status` with `junk` or `closed`, or `closed` with `junk` (decisions §5).
    pub fn validate(self) -> Result<StatusMove, ValidationErrors> {
        let Self {
            status,
            junk,
            closed,
            reopen,
            stat,
        } = self;
        let to = match (status, junk, closed) {
            (None, None, None) => Target::Stay,
            (Some(LeadStatus::Closed), None, None) => Target::Closed { reopen: None },
            (Some(status), None, None) => Target::Status(status),
            (None, Some(true), None) => Target::Status(LeadStatus::Junk),
            (None, Some(false), None) => Target::Status(LeadStatus::New),
            (None, None, Some(true)) => Target::Closed { reopen },
            (None, None, Some(false)) => Target::Status(LeadStatus::NewMessage),
            (Some(_), _, _) => {
                return Err(ValidationErrors::one(
                    "status",
                    "cannot be combined with closed or junk",
                ));
            }
            (None, Some(_), Some(_)) => return Err(ValidationErrors::one("closed", "cannot be combined with junk")),
        };
        Ok(StatusMove { to, stat })
    }
}

impl StatusMove {
    /// Returns the new status of a lead that now has `current`.
    pub const fn target(self, current: LeadStatus) -> LeadStatus {
        match self.to {
            Target::Stay => current,
            Target::Status(status) => status,
            Target::Closed { .. } => LeadStatus::Closed,
        }
    }

    /// Returns the new reopening day of a lead that now has `current`. Only a closed lead has one.
    pub const fn reopen(self, current: Option<Date>) -> Option<Date> {
        match self.to {
            Target::Stay => current,
            Target::Status(_) => None,
            Target::Closed { reopen } => reopen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> StatusChange {
        StatusChange::default()
    }

    #[test]
    fn every_code_and_name_reads_back() {
        for status in LeadStatus::ALL {
            assert_eq!(status.name().parse(), Ok(status));
            assert_eq!(status.code().to_string().parse(), Ok(status));
        }
        for text in ["6", "-1", "New", "", "new message"] {
            assert!(text.parse::<LeadStatus>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn each_trigger_leads_where_the_contract_says() {
        let table = [
            (
                StatusChange {
                    junk: Some(true),
                    ..change()
                },
                LeadStatus::Junk,
            ),
            (
                StatusChange {
                    junk: Some(false),
                    ..change()
                },
                LeadStatus::New,
            ),
            (
                StatusChange {
                    closed: Some(true),
                    ..change()
                },
                LeadStatus::Closed,
            ),
            (
                StatusChange {
                    closed: Some(false),
                    ..change()
                },
                LeadStatus::NewMessage,
            ),
        ];
        for current in LeadStatus::ALL {
            for (change, target) in table {
                assert_eq!(change.validate().unwrap().target(current), target);
            }
            for target in LeadStatus::ALL {
                let change = StatusChange {
                    status: Some(target),
                    ..change()
                };
                assert_eq!(change.validate().unwrap().target(current), target);
            }
            assert_eq!(change().validate().unwrap().target(current), current);
        }
    }

    #[test]
    fn a_reopening_day_counts_only_when_closing() {
        let day = "2026-03-01".parse().ok();
        let with_day = StatusChange {
            reopen: day,
            ..change()
        };
        assert_eq!(
            StatusChange {
                closed: Some(true),
                ..with_day
            }
            .validate()
            .unwrap()
            .reopen(None),
            day
        );
        assert_eq!(with_day.validate().unwrap().reopen(None), None);
        assert_eq!(
            StatusChange {
                closed: Some(false),
                ..with_day
            }
            .validate()
            .unwrap()
            .reopen(day),
            None
        );
        assert_eq!(
            StatusChange {
                status: Some(LeadStatus::Closed),
                ..with_day
            }
            .validate()
            .unwrap()
            .reopen(day),
            None
        );
        assert_eq!(
            StatusChange {
                stat: Some(false),
                ..change()
            }
            .validate()
            .unwrap()
            .reopen(day),
            day
        );
    }

    #[test]
    fn what_excludes_each_other_is_refused() {
        let field = |change: StatusChange| change.validate().unwrap_err().as_slice()[0].field.clone();
        for flag in [true, false] {
            let status = StatusChange {
                status: Some(LeadStatus::Read),
                ..change()
            };
            assert_eq!(
                field(StatusChange {
                    junk: Some(flag),
                    ..status
                }),
                "status"
            );
            assert_eq!(
                field(StatusChange {
                    closed: Some(flag),
                    ..status
                }),
                "status"
            );
            assert_eq!(
                field(StatusChange {
                    junk: Some(flag),
                    closed: Some(flag),
                    ..change()
                }),
                "closed"
            );
        }
    }
}
