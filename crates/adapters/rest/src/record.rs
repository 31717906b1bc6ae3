//! Answers that show a record, with its entity tag and a note of whose personal data they show.

use forecourt_accounts::Shown;
use forecourt_kernel::{ContactId, View};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    call::Call, conditional::RecordState, error::ApiError, extraction::in_hexadecimal, query::Rendering, reply::Reply,
};

/// A record that may show personal data, as writes answer with it. Once the person is erased, the answer to a retry no longer
/// shows that data. So replies are made from the record itself, which knows whose data its representation shows.
pub(crate) trait Personal {
    /// Its representation.
    type View<'a>: Serialize
    where
        Self: 'a;

    /// Returns its representation.
    fn view<'a>(&'a self, call: &'a Call) -> Self::View<'a>;

    /// Returns the contact that it shows or is linked to, and the record that it shows.
    fn shown(&self) -> Shown;
}

/// A value that shows who a contact is, and belongs to them until they are erased.
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
    /// Reads how a GET requests its record to be shown.
    ///
    /// # Errors
    /// 422 if it is not valid.
    pub(crate) fn rendering(&self) -> Result<Rendering, ApiError> {
        let mut query = self.query();
        let rendering = query.rendering(View::Full);
        query.finish(rendering)
    }

    /// Returns 200 with a record in `state`, in this `rendering`; 304 if the caller has it already.
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

    /// Returns 200 with the content of `reply`, which has no version: a digest of it is its entity tag. Returns 304 if the
    /// caller has the same content already.
    pub(crate) fn known_by_content(&self, reply: Reply) -> Reply {
        let digest = Sha256::digest(&reply.body);
        let etag = format!("\"{}\"", in_hexadecimal(&digest[..16]));
        if self.if_none_match.contain(&etag) {
            return Reply::not_modified(etag);
        }
        reply.tagged(etag)
    }

    /// Returns 200 with a record, as the answer to a write.
    pub(crate) fn ok(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::ok(&record.view(self))?
        })
    }

    /// Returns 201 with a record that was created.
    pub(crate) fn created(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::created(&record.view(self))?
        })
    }
}
