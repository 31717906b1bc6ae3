//! The store of invoices: the contract suite of its domain.

use forecourt_invoices::testing::invoice_store_contract;

use crate::installation::{Installation, both_engines};
use crate::samples::a_business;

both_engines!(invoices_are_kept_as_their_domain_asks);

async fn invoices_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    invoice_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}
