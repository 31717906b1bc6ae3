//! Answers that show a record: with its entity tag, and with whose personal data they show.

use forecourt_accounts::Shown;
use forecourt_kernel::{ContactId, View};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    call::Call, conditional::RecordState, error::ApiError, extraction::in_hexadecimal, query::Rendering, reply::Reply,
};

/// What may show personal data, as writes answer with it. Once the person is erased, the answer to a retry shows it no more; so
/// replies are made of the record itself, which knows whose data its representation shows.
pub(crate) trait Personal {
    /// Its representation.
    type View<'a>: Serialize
    where
        Self: 'a;

    /// How it is shown.
    fn view<'a>(&'a self, call: &'a Call) -> Self::View<'a>;

    /// The contact that this shows or is linked to, and the record that it shows.
    fn shown(&self) -> Shown;
}

/// Something that belongs to a contact, as long as that is not erased, and shows who that is.
pub(crate) struct OfContact<T> {
    pub(crate) contact: Option<ContactId>,
    pub(crate) view: T,
}

impl<T: Serialize> Personal for OfContact<T> {
    type View<'a>
        = &'a T
    where
        Self: 'a;

    fn view<'a>(&'a self, _: &'a Call) -> &'a T {
        &self.view
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.contact,
            record: None,
        }
    }
}

impl Call {
    /// How a GET requests its record to be shown.
    ///
    /// # Errors
    /// 422 if it is not valid.
    pub(crate) fn rendering(&self) -> Result<Rendering, ApiError> {
        let mut query = self.query();
        let rendering = query.rendering(View::Full);
        query.finish(rendering)
    }

    /// 200 with a record that is in `state`, in that `rendering`; 304 if the caller has it already.
    pub(crate) fn record(
        &self,
        state: RecordState,
        rendering: &Rendering,
        data: &impl Serialize,
    ) -> Result<Reply, ApiError> {
        let Rendering { view, fields } = rendering;
        if fields.is_some() {
            return Reply::projected(data, fields.as_ref());
        }
        let etag = state.entity_tag(*view, &self.caller.business, self.epoch);
        if self.has(&etag) {
            return Ok(Reply::not_modified(etag));
        }
        Ok(Reply::ok(data)?.tagged(etag))
    }

    /// 200 with what `reply` shows, which has no version: a digest of it is its entity tag; 304 if the caller has just that already.
    pub(crate) fn known_by_content(&self, reply: Reply) -> Reply {
        let digest = Sha256::digest(&reply.body);
        let etag = format!("\"{}\"", in_hexadecimal(&digest[..16]));
        if self.if_none_match.contain(&etag) {
            return Reply::not_modified(etag);
        }
        reply.tagged(etag)
    }

    /// 200 with a record, as a write answers.
    pub(crate) fn ok(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::ok(&record.view(self))?
        })
    }

    /// 201 with a record that was made.
    pub(crate) fn created(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::created(&record.view(self))?
        })
    }
}
