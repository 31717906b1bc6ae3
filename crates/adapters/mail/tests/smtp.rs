//! Mails over SMTP, to a server whose answers each test sets.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod support;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use forecourt_kernel::{Mail, MailError, Mailer};
use forecourt_mail::SmtpMailer;
use mailparse::{MailHeaderMap, parse_mail};
use support::{assert_names_no_person, mail, messages};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// The server's answer to a line in place of the usual one; `Some("")` hangs up.
type Answers = fn(&str) -> Option<&'static str>;

/// A mail server. It records every line that it received, beginning with `(connected)` for each connection.
struct Peer {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Self {
            address: listener.local_addr().unwrap(),
            heard: Arc::default(),
        };
        let heard = Arc::clone(&peer.heard);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // The task ends with its connection; a client that disconnects is not the server's problem.
                tokio::spawn(serve(connection, Arc::clone(&heard), answers));
            }
        });
        peer
    }

    /// Returns a mailer for this server. `login` and `parameters` are the parts of the URL before and after the host.
    fn mailer(&self, login: &str, parameters: &str) -> SmtpMailer {
        self.mailer_at("127.0.0.1", login, parameters)
    }

    fn mailer_at(&self, host: &str, login: &str, parameters: &str) -> SmtpMailer {
        let url = format!("smtp://{login}{host}:{}{parameters}", self.address.port());
        SmtpMailer::new(&url, messages()).unwrap()
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn has_received(&self, beginning: &str) -> bool {
        self.heard().iter().any(|line| line.starts_with(beginning))
    }

    /// Returns the mails that were sent.
    fn mails(&self) -> Vec<String> {
        let heard = self.heard();
        let begins = heard.iter().enumerate().filter(|(_, line)| *line == "DATA");
        let content = |(at, _): (usize, &String)| {
            let lines = heard[at + 1..].iter().take_while(|line| *line != ".");
            // A dot that begins a line is doubled in transfer.
            lines
                .map(|line| line.strip_prefix('.').unwrap_or(line).to_owned() + "\r\n")
                .collect()
        };
        begins.map(content).collect()
    }
}

async fn serve(connection: TcpStream, heard: Arc<Mutex<Vec<String>>>, answers: Answers) -> std::io::Result<()> {
    let hear = |line: &str| heard.lock().unwrap().push(line.to_owned());
    let (reading, mut writing) = connection.into_split();
    let mut lines = BufReader::new(reading).lines();
    hear("(connected)");
    writing.write_all(b"220 peer ready\r\n").await?;
    let mut in_content = false;
    while let Some(line) = lines.next_line().await? {
        hear(&line);
        if in_content && line != "." {
            continue;
        }
        let usual = match line.split(' ').next().unwrap_or_default() {
            "EHLO" => "250-peer\r\n250-AUTH PLAIN LOGIN\r\n250 HELP",
            "AUTH" => "235 welcome",
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 fine",
        };
        let answer = answers(&line).unwrap_or(usual);
        if answer.is_empty() {
            return Ok(());
        }
        in_content = answer.starts_with("354");
        writing.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}

const AS_USUAL: Answers = |_| None;

async fn refusal(answers: Answers) -> MailError {
    let peer = Peer::start(answers).await;
    let error = peer.mailer("user:password@", "").send(&mail()).await.unwrap_err();
    assert_names_no_person(&error);
    error
}

#[tokio::test]
async fn a_mail_arrives_as_it_was_meant() {
    let peer = Peer::start(AS_USUAL).await;
    peer.mailer("", "").send(&mail()).await.unwrap();
    assert_eq!(
        peer.heard()[..5],
        [
            "(connected)",
            "EHLO example.com",
            "MAIL FROM:<noreply@example.com>",
            "RCPT TO:<ann@dealer.example>",
            "DATA"
        ]
    );
    let mails = peer.mails();
    let read = parse_mail(mails[0].as_bytes()).unwrap();
    assert_eq!(read.headers.get_first_value("Subject").unwrap(), mail().subject);
    assert_eq!(
        read.get_body().unwrap().replace("\r\n", "\n").trim_end(),
        mail().text.trim_end()
    );
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let peer = Peer::start(AS_USUAL).await;
    let mailer = peer.mailer("", "");
    for _ in 0..3 {
        mailer.send(&mail()).await.unwrap();
    }
    let connections = peer.heard().iter().filter(|line| *line == "(connected)").count();
    assert_eq!((connections, peer.mails().len()), (1, 3));
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_replaced() {
    let peer = Peer::start(|line| (line == "RSET").then_some("")).await;
    let mailer = peer.mailer("", "");
    for _ in 0..2 {
        mailer.send(&mail()).await.unwrap();
    }
    let connections = peer.heard().iter().filter(|line| *line == "(connected)").count();
    assert_eq!((connections, peer.mails().len()), (2, 2));
}

#[tokio::test]
async fn a_recipient_turned_away_for_good_is_a_refusal() {
    let error = refusal(|line| {
        line.starts_with("RCPT")
            .then_some("550 5.1.1 <ann@dealer.example>: no such user at dealer.example")
    })
    .await;
    assert!(matches!(error, MailError::Refused(_)), "{error:?}");
}

#[tokio::test]
async fn a_content_turned_away_for_good_is_a_refusal() {
    for answers in [
        (|line| (line == ".").then_some("554 smells of spam")) as Answers,
        |line| (line == "DATA").then_some("554 no valid recipients"),
    ] {
        let error = refusal(answers).await;
        assert!(matches!(error, MailError::Refused(_)), "{error:?}");
    }
}

#[tokio::test]
async fn after_a_refusal_the_next_mail_is_sent() {
    let peer = Peer::start(|line| line.contains("<bob@").then_some("550 no such user")).await;
    let mailer = peer.mailer("", "");
    let to_bob = Mail {
        to: "bob@dealer.example".into(),
        ..mail()
    };
    assert!(matches!(mailer.send(&to_bob).await, Err(MailError::Refused(_))));
    mailer.send(&mail()).await.unwrap();
    assert!(peer.has_received("RSET"), "the refused mail is cleared away");
    assert_eq!(peer.mails().len(), 1);
}

#[tokio::test]
async fn what_may_work_later_is_a_failure() {
    let table: [(&str, Answers); 8] = [
        ("greylisting", |line| {
            line.starts_with("RCPT").then_some("451 try again <ann@dealer.example>")
        }),
        ("a full disk", |line| (line == ".").then_some("452 no space")),
        ("a wrong password", |line| {
            line.starts_with("AUTH").then_some("535 wrong password")
        }),
        ("a sender not allowed", |line| {
            line.starts_with("MAIL").then_some("550 not yours")
        }),
        ("a server going down", |line| {
            line.starts_with("EHLO").then_some("554 go away")
        }),
        ("a connection lost", |line| line.starts_with("RCPT").then_some("")),
        ("a connection lost at the end", |line| (line == ".").then_some("")),
        ("nonsense", |line| {
            line.starts_with("RCPT").then_some("ann@dealer.example who?")
        }),
    ];
    for (what, answers) in table {
        let error = refusal(answers).await;
        assert!(matches!(error, MailError::Failed(_)), "{what}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mailer = SmtpMailer::new(&format!("smtp://{free}"), messages()).unwrap();
    let error = mailer.send(&mail()).await.unwrap_err();
    assert!(matches!(error, MailError::Failed(_)), "{error:?}");
}

/// The server really stays silent; only the waiting is shortened.
#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let sending = tokio::spawn(async move { SmtpMailer::new(&url, messages()).unwrap().send(&mail()).await });
    let _silent = listener.accept().await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    let error = sending.await.unwrap().unwrap_err();
    assert!(matches!(error, MailError::Failed(_)), "{error:?}");
    assert!(format!("{error:?}").contains("Silence"), "{error:?}");
}

#[tokio::test]
async fn an_invalid_recipient_is_refused_without_asking() {
    let peer = Peer::start(AS_USUAL).await;
    let mailer = peer.mailer("", "");
    for to in ["", "ann", "ann@dealer.example>\r\nRCPT TO:<bob@dealer.example"] {
        let error = mailer
            .send(&Mail {
                to: to.into(),
                ..mail()
            })
            .await
            .unwrap_err();
        assert!(matches!(error, MailError::Refused(_)), "{to:?}");
        assert_names_no_person(&error);
    }
    assert_eq!(peer.heard(), [""; 0]);
}

#[tokio::test]
async fn credentials_are_sent_decoded() {
    let peer = Peer::start(AS_USUAL).await;
    peer.mailer("ann%40example.com:p%3Ass@", "")
        .send(&mail())
        .await
        .unwrap();
    // "\0ann@example.com\0p:ss" in Base64.
    assert!(
        peer.has_received("AUTH PLAIN AGFubkBleGFtcGxlLmNvbQBwOnNz"),
        "{:?}",
        peer.heard()
    );
}

/// An address by which the machine reaches itself, but which does not look local.
const ELSEWHERE: &str = "0.0.0.0";

#[tokio::test]
async fn a_password_does_not_leave_the_machine_in_the_clear() {
    let peer = Peer::start(AS_USUAL).await;
    let error = peer
        .mailer_at(ELSEWHERE, "user:password@", "")
        .send(&mail())
        .await
        .unwrap_err();
    assert!(matches!(error, MailError::Failed(_)), "{error:?}");
    assert!(
        !peer.has_received("AUTH") && !peer.has_received("MAIL"),
        "{:?}",
        peer.heard()
    );

    peer.mailer_at(ELSEWHERE, "user:password@", "?tls=none")
        .send(&mail())
        .await
        .unwrap();
    assert!(peer.has_received("AUTH"), "unless it was asked for");
}

#[tokio::test]
async fn tls_that_is_offered_is_used_and_never_fallen_back_from() {
    let peer = Peer::start(|line| match line {
        "EHLO example.com" => Some("250-peer\r\n250 STARTTLS"),
        "STARTTLS" => Some("220 go on\r\nthis is no handshake"),
        _ => None,
    })
    .await;
    let error = peer.mailer_at(ELSEWHERE, "", "").send(&mail()).await.unwrap_err();
    assert!(matches!(error, MailError::Failed(_)), "{error:?}");
    assert!(
        peer.has_received("STARTTLS") && !peer.has_received("MAIL"),
        "{:?}",
        peer.heard()
    );
}

#[tokio::test]
async fn without_tls_a_mail_is_sent_unless_tls_is_required() {
    let peer = Peer::start(AS_USUAL).await;
    let error = peer.mailer("", "?tls=required").send(&mail()).await.unwrap_err();
    assert!(matches!(error, MailError::Failed(_)), "{error:?}");
    assert!(!peer.has_received("MAIL"));
    peer.mailer_at(ELSEWHERE, "", "").send(&mail()).await.unwrap();
    assert_eq!(peer.mails().len(), 1);
}

#[tokio::test]
async fn a_recipient_is_checked_without_a_mail() {
    let peer = Peer::start(AS_USUAL).await;
    peer.mailer("", "").check(&mail()).await.unwrap();
    assert_eq!(
        peer.heard()[2..],
        [
            "MAIL FROM:<noreply@example.com>",
            "RCPT TO:<ann@dealer.example>",
            "QUIT"
        ]
    );
    let table: [(Answers, Option<bool>); 4] = [
        (
            |line| line.starts_with("RCPT").then_some("550 no such user"),
            Some(true),
        ),
        (|line| line.starts_with("RCPT").then_some("451 try again later"), None),
        (
            |line| line.starts_with("MAIL").then_some("550 who are you"),
            Some(false),
        ),
        (|line| line.starts_with("EHLO").then_some(""), Some(false)),
    ];
    for (answers, refused) in table {
        let peer = Peer::start(answers).await;
        let checked = peer.mailer("", "").check(&mail()).await;
        let outcome = checked
            .err()
            .inspect(assert_names_no_person)
            .map(|error| matches!(error, MailError::Refused(_)));
        assert_eq!(outcome, refused);
        assert!(peer.mails().is_empty());
    }
    let nobody = Mail {
        to: "nobody".into(),
        ..mail()
    };
    assert!(matches!(
        peer.mailer("", "").check(&nobody).await,
        Err(MailError::Refused(_))
    ));
}

#[tokio::test]
async fn a_mail_says_what_it_continues_and_where_answers_go() {
    let peer = Peer::start(AS_USUAL).await;
    let reply = Mail {
        message_id: Some("lead.7.2".into()),
        in_reply_to: Some("<first@mail.example>".into()),
        reply_to: Some("office@acme.example".into()),
        ..mail()
    };
    let strange = Mail {
        message_id: Some("two words".into()),
        in_reply_to: Some("x>\r\nBcc: bob@example.com".into()),
        reply_to: Some("nobody".into()),
        ..mail()
    };
    let mailer = peer.mailer("", "");
    mailer.send(&reply).await.unwrap();
    mailer.send(&strange).await.unwrap();
    let mails = peer.mails();
    let headers = |mail: &str| {
        let read = parse_mail(mail.as_bytes()).unwrap();
        ["Message-ID", "In-Reply-To", "References", "Reply-To", "Bcc"].map(|name| read.headers.get_first_value(name))
    };
    let first = "<first@mail.example>".to_owned();
    assert_eq!(
        headers(&mails[0]),
        [
            Some("<lead.7.2@example.com>".to_owned()),
            Some(first.clone()),
            Some(first),
            Some("office@acme.example".to_owned()),
            None
        ]
    );
    let [id, continued @ ..] = headers(&mails[1]);
    assert!(id.unwrap().ends_with("@example.com>"));
    assert_eq!(continued, [None, None, None, None]);
}
