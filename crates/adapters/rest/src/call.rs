//! The input of a handler: a request that has been let in, and access to the database.

use std::{borrow::Cow, net::IpAddr, rc::Rc, str::FromStr, sync::Arc, time::Duration};

use actix_web::{HttpRequest, http::header};
use forecourt_accounts::{Caller, KeyedRequest, Rules, Token};
use forecourt_dealership::{ReadSession, Session};
use forecourt_kernel::{
    BoxError, Clock, Epoch, ListName, Mail, NotAnId, Precondition, Projection, Random, Target, ValidationErrors,
};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{
    address::Client, answer_cache::AnswerKey, body, code::Code, compression::Codings, conditional::EntityTags,
    error::ApiError, extraction::FileMember, help::HelpPages, metrics, parsing::RawBody, query::Query, reply::Reply,
    strict, tail::Waiter, upload::Received, worker::Worker,
};

/// A request that has passed every check before its handler.
pub(crate) struct Call {
    pub(crate) worker: Rc<Worker>,
    pub(crate) caller: Caller,
    /// The epoch of the database before anything was read from it.
    pub(crate) epoch: Epoch,
    /// The token that the caller sent.
    pub(crate) token: Token,
    /// The address it was sent from.
    pub(crate) address: Option<IpAddr>,
    /// The values of the path's parameters, in order.
    pub(crate) path: Vec<String>,
    pub(crate) query: String,
    /// The body, without the file if the operation takes one.
    pub(crate) body: RawBody,
    /// The upload received by an operation that takes a file.
    pub(crate) upload: Option<Received>,
    /// With strict handling, the names in query and body that the operation does not know.
    pub(crate) unknown: ValidationErrors,
    /// For a write: the origin of the request.
    pub(crate) sender: Sender,
    /// For a write: the key that makes it safe to retry.
    pub(crate) retry: Option<KeyedRequest>,
    /// For a write of a record: the versions at which it may happen.
    pub(crate) precondition: Precondition,
    /// For a read of a record: the entity tags that the caller has already.
    pub(crate) if_none_match: EntityTags,
    /// True if the caller prefers the media type that the operation offers beside JSON.
    pub(crate) wants_alternative: bool,
    /// The codings that this caller prefers, for operations whose answers are cached for other callers.
    pub(crate) codings: Codings,
}

/// The origin of a request.
#[derive(Clone, Default)]
pub(crate) struct Sender {
    /// The address; empty if it is unknown.
    pub(crate) address: String,
    /// The `User-Agent` of the program that sent it; empty if it sends none.
    pub(crate) agent: String,
}

impl Sender {
    pub(crate) fn of(request: &HttpRequest, client: Option<Client>) -> Self {
        let agent = request.headers().get(header::USER_AGENT);
        Self {
            address: client.map(|client| client.address().to_string()).unwrap_or_default(),
            agent: agent
                .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned())
                .unwrap_or_default(),
        }
    }
}

impl Call {
    /// Returns the key under which the answer is cached. It is the same for all who request this `resource` of the business
    /// with the same query at the same `revision`.
    pub(crate) fn cache_key(&self, resource: &'static str, revision: &str) -> AnswerKey {
        AnswerKey {
            business: self.caller.business_id(),
            resource,
            query: self.query.clone(),
            revision: format!("{revision}{}", self.epoch.mark()),
        }
    }

    /// Returns true if the epoch is still that of the start of the request. If not, the data that was read may be of either.
    pub(crate) fn epoch_stands(&self) -> bool {
        self.worker.database.epoch() == self.epoch
    }

    /// Returns true if the caller has the version that the entity tag `etag` stands for.
    pub(crate) fn has(&self, etag: &str) -> bool {
        self.if_none_match.contain(etag) && self.epoch_stands()
    }

    /// Returns the answer that is cached under `key`, if there is one in a coding that the caller prefers.
    pub(crate) fn cached(&self, key: &AnswerKey) -> Option<Reply> {
        let answers = &self.worker.shared.answers;
        let mut codings = self.codings.iter();
        codings.find_map(|coding| Some(Reply::cached(answers.get(key, coding)?, coding)))
    }

    /// Returns the record that a write is for: the first identifier in the path, read as by [`Call::id`], and `If-Match`.
    pub(crate) fn target<T: FromStr>(&self, absent: Code) -> Result<Target<T>, ApiError> {
        Ok(Target {
            id: self.id(absent)?,
            precondition: self.precondition.clone(),
        })
    }

    /// Returns the first identifier in the path. Text that is not an identifier matches no resource: the error has the code
    /// `absent`.
    pub(crate) fn id<T: FromStr>(&self, absent: Code) -> Result<T, ApiError> {
        self.nth_id(0, absent)
    }

    /// Returns the second identifier in the path, of something that belongs to the first; otherwise like [`Call::id`].
    pub(crate) fn second_id<T: FromStr>(&self, absent: Code) -> Result<T, ApiError> {
        self.nth_id(1, absent)
    }

    /// Returns the third identifier in the path, of a part of the second; otherwise like [`Call::id`].
    pub(crate) fn third_id<T: FromStr>(&self, absent: Code) -> Result<T, ApiError> {
        self.nth_id(2, absent)
    }

    fn nth_id<T: FromStr>(&self, nth: usize, absent: Code) -> Result<T, ApiError> {
        let parsed = self.parameter(nth).and_then(|text| text.parse().ok());
        parsed.ok_or_else(|| ApiError::new(absent, "there is no such resource"))
    }

    /// Returns the value of a parameter of the path.
    fn parameter(&self, nth: usize) -> Option<Cow<'_, str>> {
        Some(percent_decode_str(self.path.get(nth)?).decode_utf8_lossy())
    }

    /// Returns the list of this name in the record that the path names first. [`Call::id`] checks whether that record's id is
    /// valid.
    pub(crate) fn list_within(&self, name: &'static str) -> ListName {
        self.list_within_nth(name, 0)
    }

    /// Returns the list of this name in the record that the path names second; otherwise like [`Call::list_within`].
    pub(crate) fn list_within_second(&self, name: &'static str) -> ListName {
        self.list_within_nth(name, 1)
    }

    fn list_within_nth(&self, name: &'static str, nth: usize) -> ListName {
        let record = self.parameter(nth).and_then(|text| NotAnId::read(&text).ok());
        ListName::within(name, record.unwrap_or_default())
    }

    /// Returns the list of this name that the caller's business has in this epoch. Cursors of any other list are refused.
    pub(crate) fn own_list(&self, name: ListName) -> ListName {
        name.of_business(self.caller.business_id()).in_epoch(self.epoch)
    }

    /// Returns the caller as of now, for a request that was held back so long that its key may have been revoked in the
    /// meantime.
    pub(crate) async fn caller_now(&self) -> Result<Caller, ApiError> {
        self.worker.caller(&self.token, self.address).await
    }

    /// Returns the query, for reading.
    pub(crate) fn query(&self) -> Query<'_> {
        Query::new(&self.query).with_faults(self.unknown.clone())
    }

    /// Returns the fields that a GET requests, for an answer with one view only.
    ///
    /// # Errors
    /// 422 if it requests too many.
    pub(crate) fn fields(&self) -> Result<Option<Projection>, ApiError> {
        let mut query = self.query();
        let fields = query.fields();
        query.finish(fields)
    }

    /// Returns the file that the body carries.
    pub(crate) fn file(&self) -> &FileMember {
        self.upload
            .as_ref()
            .map_or(&FileMember::Absent, |received| &received.file)
    }

    /// Returns the body, read as `B`.
    pub(crate) async fn body<B: DeserializeOwned + Send + 'static>(&self) -> Result<B, ApiError> {
        self.parse(body::parse).await
    }

    /// Returns the outcome of `read` on the body, read as `B`, by the rules of the business.
    pub(crate) async fn read_body<B: DeserializeOwned, T: Send + 'static>(
        &self,
        read: impl FnOnce(B, &Rules<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let business = Arc::clone(&self.caller.business);
        let now = self.clock().now();
        self.parse(move |sent| {
            let rules = Rules {
                business: &business,
                now,
            };
            read(body::parse(sent)?, &rules)
        })
        .await
    }

    /// Returns the outcome of `work` on the bytes of the body.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        work: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let pool = &self.worker.shared.parsing;
        self.body.parse(pool, self.caller.business_id(), work).await
    }

    /// Returns the command of the request, unless strict handling refuses it; then all faults are reported together.
    pub(crate) fn strictly<C>(&self, command: Result<C, ApiError>) -> Result<C, ApiError> {
        if self.unknown.is_empty() {
            return command;
        }
        match command {
            Ok(_) => Err(self.unknown.clone().into()),
            Err(ApiError::Invalid(errors)) => Err(strict::together(&self.unknown, &errors).into()),
            Err(error) => Err(error),
        }
    }

    /// Returns the pages on errors.
    pub(crate) fn help(&self) -> &HelpPages {
        &self.worker.shared.help
    }

    pub(crate) fn random(&self) -> &dyn Random {
        self.worker.shared.random.as_ref()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.worker.shared.clock
    }

    /// Opens a session for reading.
    pub(crate) async fn read(&self) -> Result<Box<dyn ReadSession>, ApiError> {
        Ok(self.worker.database.read_for(Some(self.caller.business_id())).await?)
    }

    /// Waits for events of the caller's business from now on; `None` if too many requests do so already.
    pub(crate) fn event_waiter(&self) -> Option<Waiter> {
        let business = self.caller.business_id();
        self.worker.shared.tails.wait(&self.worker.database, business)
    }

    /// Claims one of the mails that the business may send today, for a mail that is sent while the request waits.
    ///
    /// # Errors
    /// The error that `refused` makes, if the limit is reached.
    pub(crate) async fn claim_mail(
        &self,
        session: &mut dyn Session,
        refused: impl FnOnce(BoxError) -> ApiError,
    ) -> Result<(), ApiError> {
        if session
            .claim_mail(self.caller.business_id(), self.clock().now())
            .await?
        {
            return Ok(());
        }
        metrics::count_refused_mail();
        Err(refused("the business may send no more mails today".into()))
    }

    /// Sends a mail that was claimed while the request waits, and no transaction is open. Returns it if outgoing is held: then it
    /// is queued with the answer, which is that of a mail that was sent.
    pub(crate) async fn send_mail(&self, mail: Mail, time_limit: Duration) -> Result<Option<Mail>, BoxError> {
        if self.worker.database.is_outgoing_held() {
            return Ok(Some(mail));
        }
        timeout(time_limit, self.worker.shared.mailer.send(&mail)).await??;
        Ok(None)
    }

    /// Queues a mail that [`Call::send_mail`] returned.
    pub(crate) async fn queue_held_mail(&self, session: &mut dyn Session, held: Option<&Mail>) -> Result<(), ApiError> {
        if let Some(mail) = held {
            let now = self.clock().now();
            session
                .queue_claimed_mail(self.caller.business_id(), mail.clone(), now)
                .await?;
        }
        Ok(())
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> Result<Box<dyn Session>, ApiError> {
        let business = Some(self.caller.business_id());
        Ok(self.worker.database.begin_for(business).await?)
    }
}
