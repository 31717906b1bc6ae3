//! People's data in contacts. A contact's own row is deleted with it; others' notes may name it.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Binary;
use forecourt_contacts::BlockKey;
use forecourt_kernel::{BusinessId, Person, StoreResult};

use super::super::people::{Budget, PersonalTexts, READ_AT_ONCE, next_texts};
use super::super::session::{Session, Write};
use crate::personal::{
    Erasure::{Deleted, Keyed, Redacted},
    PersonalTable, held, table, withheld,
};
use crate::schema::{contact_blocks, contact_notes};
use crate::secrets::Keyring;
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "contacts",
        &[
            held("document", "contact", Deleted),
            held("login_email", "contact", Deleted),
            held("email_folded", "contact", Deleted),
            held("name_key", "contact", Deleted),
            held("name_literal", "contact", Deleted),
            held("company_key", "contact", Deleted),
            held("company_literal", "contact", Deleted),
            held("vat_key", "contact", Deleted),
            held("vat_literal", "contact", Deleted),
            held("telephone", "contact", Deleted),
            held("mobile", "contact", Deleted),
            held("address_key", "contact", Deleted),
            held("city_key", "contact", Deleted),
            held("state_key", "contact", Deleted),
            held("country", "contact", Deleted),
            held("postcode_key", "contact", Deleted),
            held("postcode_literal", "contact", Deleted),
            held("password_hash", "password", Deleted),
        ],
        &["id", "business_id", "login_mail_until", "created", "updated", "version"],
    ),
    table(
        "contact_notes",
        &[held("note", "contact.data.notes", Redacted)],
        &["id", "business_id", "contact_id", "created", "user_id"],
    ),
    table(
        "contact_blocks",
        &[held("key", "follow_blocks", Keyed)],
        &["business_id"],
    ),
    table("contact_search", &[withheld("text", "an index", Deleted)], &[]),
    table("contact_search_state", &[], &["latest"]),
];

/// The notes on contacts.
pub(in super::super) struct Notes;

#[async_trait]
impl PersonalTexts for Notes {
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        of: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let with = of.map(|contact| ("contact_id", contact));
        let next = next_texts(session, business, "contact_notes", "note", with, after).await?;
        let affordable = budget.afford(&next);
        let last = affordable.last().copied();
        let notes: Vec<(i64, String)> = contact_notes::table
            .filter(contact_notes::business_id.eq(business.get()))
            .filter(contact_notes::id.eq_any(affordable))
            .select((contact_notes::id, contact_notes::note))
            .load(session.conn().await?)
            .await?;
        for (id, mut note) in notes {
            if person.redact_certain(&mut note) {
                diesel::update(contact_notes::table.find((business.get(), id)))
                    .set(contact_notes::note.eq(note))
                    .execute(session.conn().await?)
                    .await?;
            }
        }
        Ok(last)
    }
}

/// The first byte of a keyed digest. It makes them longer than those that earlier versions made without a key.
const KEYED: u8 = 1;
const BARE_BYTES: i32 = 32;

fn keyed_block(cipher: &Keyring, bare: &[u8]) -> Vec<u8> {
    let digest = cipher.digest("follow-block", bare);
    [&[KEYED][..], &digest].concat()
}

/// Returns a block's digest, and the one that an earlier version stored: without a key, a telephone number is found by trying
/// all.
pub(super) fn block_digests(cipher: &Keyring, key: &BlockKey) -> [Vec<u8>; 2] {
    [keyed_block(cipher, key.as_bytes()), key.as_bytes().to_vec()]
}

define_sql_function! {
    /// The number of bytes of a digest.
    #[sql_name = "octet_length"]
    fn digest_bytes(digest: Binary) -> Integer;
}

impl Session<Write> {
    /// Replaces some of the digests that an earlier version made without a key; returns their number.
    pub(in super::super) async fn key_blocks(&mut self) -> StoreResult<usize> {
        let bare: Vec<(i64, Vec<u8>)> = contact_blocks::table
            .filter(digest_bytes(contact_blocks::key).eq(BARE_BYTES))
            .limit(READ_AT_ONCE)
            .select((contact_blocks::business_id, contact_blocks::key))
            .load(self.conn().await?)
            .await?;
        for (business, digest) in &bare {
            let keyed = keyed_block(self.dependencies.cipher()?, digest);
            diesel::insert_into(contact_blocks::table)
                .values((contact_blocks::business_id.eq(business), contact_blocks::key.eq(keyed)))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
            diesel::delete(contact_blocks::table.find((business, digest)))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(bare.len())
    }
}
