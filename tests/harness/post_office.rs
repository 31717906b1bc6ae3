//! A mail server that stores the mails it receives.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Implements the part of SMTP that is needed to receive a mail.
#[derive(Debug)]
pub struct PostOffice {
    port: u16,
    letters: Arc<Mutex<Vec<Letter>>>,
    /// True if it confirms the mails that it has received.
    answers: watch::Sender<bool>,
    /// The addresses that it refuses.
    unknown: Arc<Mutex<Vec<String>>>,
}

/// A mail with its envelope.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    /// The recipients on the envelope.
    pub to: Vec<String>,
    /// The mail, with its headers.
    pub content: String,
}

impl PostOffice {
    /// Opens one.
    pub async fn open() -> Self {
        Self::answering(true).await
    }

    /// Opens one that accepts mails, and confirms them only from [`answer`](Self::answer) on.
    pub async fn silent() -> Self {
        Self::answering(false).await
    }

    /// Answers from now on, also for mails that it received before.
    pub fn answer(&self) {
        self.answers.send_replace(true);
    }

    /// Refuses this address from now on.
    pub fn refuse(&self, address: &str) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.push(address.to_uppercase());
    }

    async fn answering(at_once: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let letters = Arc::<Mutex<Vec<Letter>>>::default();
        let kept = Arc::clone(&letters);
        let answers = watch::Sender::new(at_once);
        let may_answer = answers.subscribe();
        let unknown = Arc::<Mutex<Vec<String>>>::default();
        let refused = Arc::clone(&unknown);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(
                    client,
                    Arc::clone(&kept),
                    may_answer.clone(),
                    Arc::clone(&refused),
                ));
            }
        });
        Self {
            port,
            letters,
            answers,
            unknown,
        }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Returns the mails received so far.
    pub fn letters(&self) -> Vec<Letter> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves one client until it leaves, or breaks off.
async fn serve(
    client: TcpStream,
    kept: Arc<Mutex<Vec<Letter>>>,
    mut may_answer: watch::Receiver<bool>,
    unknown: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    client.write_all(b"220 post office\r\n").await?;
    let (mut letter, mut in_content) = (Letter::default(), false);
    loop {
        let mut line = String::new();
        if client.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if in_content && line != ".\r\n" {
            letter.content.push_str(line.strip_prefix('.').unwrap_or(&line));
            continue;
        }
        let command = line.trim_end().to_uppercase();
        let answer: &[u8] = if in_content {
            in_content = false;
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(std::mem::take(&mut letter));
            // If the sender is gone, the test is over.
            let _ = may_answer.wait_for(|answers| *answers).await;
            b"250 kept\r\n"
        } else if command == "DATA" {
            in_content = true;
            b"354 go on\r\n"
        } else if command.starts_with("RCPT TO:") && is_in(&command, &unknown) {
            b"550 no such mailbox\r\n"
        } else if command == "RSET" {
            letter = Letter::default();
            b"250 forgotten\r\n"
        } else if command.starts_with("RCPT TO:") {
            letter.to.push(line["RCPT TO:".len()..].trim().to_owned());
            b"250 known\r\n"
        } else {
            b"250 very well\r\n"
        };
        client.write_all(answer).await?;
    }
}

/// Returns true if a command names one of these addresses.
fn is_in(command: &str, addresses: &Mutex<Vec<String>>) -> bool {
    let addresses = addresses.lock().unwrap_or_else(PoisonError::into_inner);
    addresses
        .iter()
        .any(|address| command.contains(&format!("<{address}>")))
}
