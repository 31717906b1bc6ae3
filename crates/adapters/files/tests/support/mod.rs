//! A server that implements the part of S3 that the store of files uses.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

const DATE: &str = "Wed, 21 Oct 2026 07:28:00 GMT";
/// The number of keys on a page of a listing: few, so that there are several pages.
const PAGE: usize = 2;

/// Objects by key, unfinished uploads by number, and the first line of each request.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    pub(crate) uploads: BTreeMap<u64, BTreeMap<u64, Vec<u8>>>,
    pub(crate) requests: Vec<String>,
}

/// The server; it has one bucket, `photos`.
pub(crate) struct S3 {
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) endpoint: String,
}

impl S3 {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&shared)));
            }
        });
        Self { state, endpoint }
    }
}

struct Request {
    method: String,
    key: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: String::new(),
            body: body.into(),
        }
    }

    fn error(status: &'static str, code: &str) -> Self {
        Self::new(status, format!("<Error><Code>{code}</Code></Error>"))
    }
}

async fn serve(connection: TcpStream, state: Arc<Mutex<State>>) {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read(&mut connection, &state).await {
        let is_head = request.method == "HEAD";
        let answer = answer(request, &mut state.lock().unwrap());
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Length: {}\r\nETag: \"e\"\r\nLast-Modified: {DATE}\r\n{}\r\n",
            answer.status,
            answer.body.len(),
            answer.headers
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        if !is_head {
            connection.write_all(&answer.body).await.unwrap();
        }
    }
}

async fn read(connection: &mut BufReader<TcpStream>, state: &Mutex<State>) -> Option<Request> {
    let mut line = String::new();
    connection
        .read_line(&mut line)
        .await
        .ok()
        .filter(|length| *length > 0)?;
    state.lock().unwrap().requests.push(line.trim().to_owned());
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    assert!(headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=key/"));
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Some(Request {
        method,
        key: path.strip_prefix("/photos")?.trim_start_matches('/').to_owned(),
        query: pairs
            .map(|(name, value)| (name.to_owned(), value.replace("%2F", "/")))
            .collect(),
        headers,
        body,
    })
}

fn answer(request: Request, state: &mut State) -> Answer {
    let Request {
        method,
        key,
        query,
        headers,
        body,
    } = request;
    let upload = query.get("uploadId").map(|id| id.parse().unwrap());
    match (method.as_str(), upload) {
        ("GET" | "HEAD", None) if !key.is_empty() => object(state, &key, headers.get("range")),
        ("GET", None) => list(state, &query),
        ("PUT", None)
            if headers
                .get("if-none-match")
                .is_some_and(|_| state.objects.contains_key(&key)) =>
        {
            Answer::error("412 Precondition Failed", "PreconditionFailed")
        }
        ("PUT", None) if headers.contains_key("x-amz-copy-source") => {
            let source = headers["x-amz-copy-source"].trim_start_matches('/').replace("%2F", "/");
            let Some(content) = state.objects.get(source.strip_prefix("photos/").unwrap()).cloned() else {
                return Answer::error("404 Not Found", "NoSuchKey");
            };
            state.objects.insert(key, content);
            Answer::new("200 OK", "<CopyObjectResult><ETag>e</ETag></CopyObjectResult>")
        }
        ("PUT", None) => {
            state.objects.insert(key, body);
            Answer::new("200 OK", "")
        }
        ("POST", None) if query.contains_key("uploads") => {
            let id = state.requests.len() as u64;
            state.uploads.insert(id, BTreeMap::new());
            let body =
                format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>");
            Answer::new("200 OK", body)
        }
        ("PUT", Some(id)) => {
            let parts = state.uploads.get_mut(&id).unwrap();
            parts.insert(query["partNumber"].parse().unwrap(), body);
            Answer::new("200 OK", "")
        }
        ("POST", Some(id)) => {
            let parts: Vec<_> = state.uploads.remove(&id).unwrap().into_values().collect();
            let (_, all_but_last) = parts.split_last().unwrap();
            assert!(all_but_last.iter().all(|part| part.len() >= 5 * 1024 * 1024));
            state.objects.insert(key, parts.concat());
            let body = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>";
            Answer::new("200 OK", body)
        }
        ("DELETE", Some(id)) => {
            state.uploads.remove(&id);
            Answer::new("204 No Content", "")
        }
        ("DELETE", None) => {
            state.objects.remove(&key);
            Answer::new("204 No Content", "")
        }
        _ => Answer::error("501 Not Implemented", "NotImplemented"),
    }
}

fn object(state: &State, key: &str, range: Option<&String>) -> Answer {
    let Some(content) = state.objects.get(key) else {
        return Answer::error("404 Not Found", "NoSuchKey");
    };
    let Some(range) = range else {
        return Answer::new("200 OK", content.clone());
    };
    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let last = last.min(content.len() - 1);
    let mut answer = Answer::new("206 Partial Content", &content[first..=last]);
    answer.headers = format!("Content-Range: bytes {first}-{last}/{}\r\n", content.len());
    answer
}

fn list(state: &State, query: &BTreeMap<String, String>) -> Answer {
    let text = |name: &str| query.get(name).map_or("", String::as_str);
    let (prefix, delimiter) = (text("prefix"), text("delimiter"));
    let behind = text("start-after").max(text("continuation-token"));
    let (mut files, mut folders, mut last, mut more) = (Vec::new(), Vec::new(), "", false);
    for (key, content) in state.objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
        let end = key[prefix.len()..].find('/').filter(|_| !delimiter.is_empty());
        let item = end.map_or(key.as_str(), |end| &key[..=prefix.len() + end]);
        if item <= behind || item == last {
            continue;
        }
        if files.len() + folders.len() == PAGE {
            more = true;
            break;
        }
        last = item;
        if end.is_some() {
            folders.push(format!("<CommonPrefixes><Prefix>{item}</Prefix></CommonPrefixes>"));
        } else {
            files.push(format!(
                "<Contents><Key>{key}</Key><Size>{}</Size><ETag>e</ETag>\
                 <LastModified>2026-10-21T07:28:00.000Z</LastModified></Contents>",
                content.len()
            ));
        }
    }
    let next = if more {
        format!("<NextContinuationToken>{last}</NextContinuationToken>")
    } else {
        String::new()
    };
    let (files, folders) = (files.concat(), folders.concat());
    let body = format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>{next}{files}{folders}</ListBucketResult>");
    Answer::new("200 OK", body)
}
