//! The login of contacts, over HTTP (contract, "Contacts"; decisions §6).

use std::{rc::Rc, sync::Arc, time::Duration};

use forecourt_contacts::{
    self as contacts, ContactError, LoginEmailed, LoginInvitation, Password, PasswordHash, PasswordReset,
};
use forecourt_dealership::Session;
use forecourt_kernel::{BoxError, ContactId, Target};
use tokio::{sync::OwnedMutexGuard, task::spawn_blocking, time::sleep};

use super::id::IdParameter;
use crate::{
    call::Call,
    code::Code,
    detach::run_to_completion,
    error::ApiError,
    operation::{Declared, Operation, operations},
    record::OfContact,
    reply::{Envelope, Reply},
    write::Prepared,
};

/// The first and the longest pause between the polls of a request that waits for another server's mail.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The maximum time that sending a login mail may take: well within its lease, and longer than our mailers try.
const SEND_TIMEOUT: Duration = Duration::from_secs(55);
const _: () = assert!(SEND_TIMEOUT.as_secs() + 10 < contacts::LOGIN_MAIL_LEASE_SECONDS.unsigned_abs());

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_reset_contact_password> reset_contact_password,
        self::<__path_email_contact_login> email_contact_login,
    ])
}

/// Reset the password of a contact's login
///
/// The new password is shown only in this answer.
#[utoipa::path(post, path = "/2.0/contacts/{id}/login/password/reset", tag = "contacts",
    security(("bearer" = ["contact-login:write"])), params(IdParameter),
    responses((status = 200, description = "The new password", body = Envelope<PasswordReset<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_login_disabled`"),
        (status = 500, description = "`contact_login_password_unavailable`")))]
async fn reset_contact_password(call: Call) -> Result<Reply, ApiError> {
    // Made before the transaction begins, so that no other transaction has to wait for it.
    let (password, hash) = make_password(&call).await?;
    call.write(Ok(hash), async |session: &mut dyn Session, hash| {
        let target = call.target(Code::CONTACT_NOT_FOUND)?;
        let contact = contacts::reset_password(session, &call.caller, target, hash).await?;
        call.ok(&OfContact {
            contact: Some(contact.id),
            view: PasswordReset::new(&contact, &password),
        })
    })
    .await
}

/// Mail a contact the details of their login
///
/// With a new password, which replaces the old one once the mail is on its way.
#[utoipa::path(post, path = "/2.0/contacts/{id}/login/email", tag = "contacts",
    security(("bearer" = ["contact-login:write"])), params(IdParameter),
    responses((status = 200, description = "The mail is on its way", body = Envelope<LoginEmailed<'static>>),
        (status = 404, description = "`contact_not_found`"), (status = 409, description = "`contact_login_disabled`"),
        (status = 500, description = "`contact_login_email_failed`, `contact_login_password_unavailable`")))]
async fn email_contact_login(call: Call) -> Result<Reply, ApiError> {
    let contact = match call.target::<ContactId>(Code::CONTACT_NOT_FOUND) {
        Ok(contact) => contact,
        Err(absent) => return call.refuse(absent).await,
    };
    // On this server requests for a mail to the same contact wait for each other; between servers they wait for a lease.
    let mails = &call.worker.shared.login_mails;
    let lock = mails.lock((call.caller.business_id(), contact.id)).await;
    let mail = Rc::new(LoginMail {
        call,
        contact,
        _lock: lock,
    });
    let mut pause = FIRST_BACKOFF;
    loop {
        let attempt = Rc::clone(&mail);
        // Otherwise a caller who disconnects while the mail is being sent would leave a password that does not work.
        if let Some(reply) = run_to_completion(async move { attempt.send().await }).await? {
            return Ok(reply);
        }
        sleep(pause).await;
        pause = MAX_BACKOFF.min(pause * 2);
    }
}

/// A request for a mail with a contact's login details.
struct LoginMail {
    call: Call,
    contact: Target<ContactId>,
    /// Held until the mail is sent, even if no request waits for it.
    _lock: OwnedMutexGuard<()>,
}

impl LoginMail {
    /// Returns the answer, given before or after the mail was sent; `None` while another server sends this contact a mail.
    async fn send(&self) -> Result<Option<Reply>, ApiError> {
        let Self { call, contact, .. } = self;
        let begun = call.prepare(async |session: &mut dyn Session| {
            let begun =
                contacts::begin_login_email(session, call.clock().as_ref(), &call.caller, contact.clone()).await?;
            if begun.is_some() {
                let spent = |spent| ContactError::LoginEmailFailed(spent).into();
                call.claim_mail(session, spent).await?;
            }
            Ok(begun)
        });
        let invitation = match begun.await? {
            Prepared::Done(Some(invitation)) => invitation,
            Prepared::Done(None) => return Ok(None),
            Prepared::Answered(reply) => return Ok(Some(reply)),
        };
        let outcome = self.send_to(&invitation).await;
        if !matches!(&outcome, Ok(reply) if reply.status.is_success()) {
            self.abandon(&invitation).await;
        }
        outcome.map(Some)
    }

    /// Sends the mail while no transaction is open, then makes its password valid.
    async fn send_to(&self, invitation: &LoginInvitation) -> Result<Reply, ApiError> {
        let call = &self.call;
        let (password, hash) = make_password(call).await?;
        let mail = invitation.mail(&call.caller.business, &password);
        let sent = call.send_mail(mail, SEND_TIMEOUT).await;
        let held = sent.map_err(ContactError::LoginEmailFailed)?;
        call.write(Ok(hash), async |session: &mut dyn Session, hash| {
            call.queue_held_mail(session, held.as_ref()).await?;
            contacts::finish_login_email(session, &call.caller, invitation, hash).await?;
            call.ok(&OfContact {
                contact: Some(invitation.contact()),
                view: LoginEmailed::new(invitation),
            })
        })
        .await
    }

    /// Lets the next request try at once.
    async fn abandon(&self, invitation: &LoginInvitation) {
        let Self { call, contact, .. } = self;
        let abandoned = call.apart(async |session: &mut dyn Session| {
            Ok(contacts::abandon_login_email(session, &call.caller, invitation).await?)
        });
        if abandoned.await.is_err() {
            // The failure before this one is logged, and most likely has the same cause.
            tracing::warn!(contact = %contact.id, "a login mail that failed keeps others waiting until its lease is over");
        }
    }
}

/// Makes a password on a blocking thread. The number made at once is limited, since each takes much memory.
async fn make_password(call: &Call) -> Result<(Password, PasswordHash), ApiError> {
    let shared = Arc::clone(&call.worker.shared);
    let lost = |error: BoxError| ApiError::from(ContactError::PasswordUnavailable(error));
    let _permit = call
        .worker
        .shared
        .hashing
        .acquire()
        .await
        .map_err(|closed| lost(closed.into()))?;
    let made = spawn_blocking(move || contacts::make_password(shared.random.as_ref(), shared.hasher.as_ref()));
    Ok(made.await.map_err(|panicked| lost(panicked.into()))??)
}
