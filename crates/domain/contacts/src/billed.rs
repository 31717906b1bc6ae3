//! A contact as documents see it (areas §10.1).

use forecourt_billing::{BilledContact, Party, PartyAddress};

use crate::{Address, Contact, ContactDraft};

impl From<&Contact> for BilledContact {
    fn from(contact: &Contact) -> Self {
        let ContactDraft {
            email,
            name,
            company,
            vat,
            address,
            nominal,
            ..
        } = &contact.content;
        let Address {
            line1,
            line2,
            line3,
            city,
            state,
            country,
            zip,
        } = address.clone();
        Self {
            id: contact.id,
            party: Party {
                name: name.clone(),
                company: company.clone(),
                address: PartyAddress {
                    line1,
                    line2,
                    line3,
                    city,
                    state,
                    country,
                    zip,
                },
                vat: vat.clone(),
            },
            email: email.clone(),
            nominal_sales: nominal.invoice.clone(),
            nominal_purchases: nominal.purchase.clone(),
        }
    }
}
