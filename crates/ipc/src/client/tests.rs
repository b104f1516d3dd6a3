use std::io::BufRead;
use std::os::unix::net::UnixListener;

use super::*;

/// A server that handles one connection with `serve`.
fn client_of(timeout: Duration, serve: impl FnOnce(UnixStream) + Send + 'static) -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let client = Client::connect_at(&socket, timeout).unwrap();
    (folder, client)
}

#[test]
fn line_breaks_inside_of_json_do_not_end_the_request() {
    let (_folder, mut client) = client_of(Duration::from_secs(60), |stream| {
        let mut line = String::new();
        io::BufReader::new(&stream).read_line(&mut line).unwrap();
        let request: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(request["op"], "hook");
        assert_eq!(request["params"]["payload"], serde_json::json!({ "text": "a\nb" }));
        (&stream).write_all(b"{\"ok\":{\"stdout\":\"yes\"}}\n").unwrap();
    });
    let payload = "{\n  \"text\": \"a\\nb\"\n}".to_owned();
    let payload = serde_json::value::RawValue::from_string(payload).unwrap();
    let response = client.hook(&HookRequest { payload, ..HookRequest::default() }).unwrap();
    assert_eq!(response.stdout, "yes");
}

#[test]
fn a_request_times_out_even_if_the_response_trickles_in() {
    let (_folder, mut client) =
        client_of(Duration::from_millis(50), |mut stream| while stream.write_all(b" ").is_ok() {});
    let error = client.ping().unwrap_err();
    assert!(matches!(&error, ClientError::Io(error) if error.kind() == io::ErrorKind::TimedOut), "{error}");
}

#[test]
fn a_missing_socket_means_that_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let error = Client::connect_at(&folder.path().join("none"), Duration::from_secs(1)).unwrap_err();
    assert!(matches!(error, ClientError::NotRunning(_)), "{error}");
}

#[test]
fn a_closed_connection_and_an_error_are_reported() {
    let (_folder, mut client) = client_of(Duration::from_secs(60), drop);
    assert!(matches!(client.ping().unwrap_err(), ClientError::Io(_)));
    let (_folder, mut client) = client_of(Duration::from_secs(60), |mut stream| {
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"{\"error\":{\"code\":\"busy\",\"message\":\"later\"}}\n").unwrap();
    });
    assert!(matches!(client.ping().unwrap_err(), ClientError::Refused(error) if error.message == "later"));
}
