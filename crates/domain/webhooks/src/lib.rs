//! Webhooks: who is told of what happened, and how the telling is seen through.

mod courier;

pub use courier::{Answer, Attempt, Courier, KEPT_OF_A_RESPONSE, Parcel, Undelivered};
