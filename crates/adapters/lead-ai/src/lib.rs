//! Reads leads' conversations, and rates their senders: rating, intent, summary, junk.
//!
//! [`Rules`] and [`OpenAi`] are the [`Analyst`](forecourt_leads::Analyst) of the leads. `Rules` is built in and always gives the
//! same answer. `OpenAi` asks a model at any OpenAI-compatible endpoint, and trusts its answer no more than the sender's words.
//! [`Budgeted`] bounds the cost of the latter for a business in a day. Nothing is logged, and no error quotes a conversation, an
//! answer or a key. `docs/lead-ai.md` is the guide for users.

mod budget;
mod openai;
mod rules;

pub use budget::{BudgetSpent, Budgeted, DEFAULT_DAILY_READS, DailyBudget};
pub use forecourt_net::CertificateDer;
pub use openai::{OpenAi, OpenAiConfig, UnusableEndpoint};
pub use rules::Rules;
