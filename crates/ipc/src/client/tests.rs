use std::io::BufRead;
use std::os::unix::net::UnixListener;

use super::*;

/// A server that handles one connection with `serve`.
fn client_of(timeout: Duration, serve: impl FnOnce(UnixStream) + Send + 'static) -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let client = Client::connect_at(&socket, timeout).unwrap();
    (dir, client)
}

#[test]
fn line_breaks_inside_of_json_do_not_end_the_request() {
    let (_dir, mut client) = client_of(Duration::from_secs(60), |stream| {
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
    let (_dir, mut client) = client_of(Duration::from_millis(50), |mut stream| while stream.write_all(b" ").is_ok() {});
    let error = client.ping().unwrap_err();
    assert!(matches!(&error, ClientError::Io(error) if error.kind() == io::ErrorKind::TimedOut), "{error}");
}

#[test]
fn a_response_that_waits_is_read_after_the_deadline() {
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(b"{\"ok\":1}").unwrap();
    let mut late = BoundedStream { stream: &client, deadline: Some(Instant::now()), read_late: false };
    let mut buffer = [0; 64];
    assert_eq!(late.read(&mut buffer).unwrap(), 8);
    // Nothing more is waited for, however much follows.
    server.write_all(b"more").unwrap();
    assert_eq!(late.read(&mut buffer).unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_missing_socket_means_that_nothing_runs() {
    let dir = tempfile::tempdir().unwrap();
    let error = Client::connect_at(&dir.path().join("none"), Duration::from_secs(1)).unwrap_err();
    assert!(matches!(error, ClientError::NotRunning(_)), "{error}");
}

#[test]
fn a_closed_connection_and_an_error_are_reported() {
    let (_dir, mut client) = client_of(Duration::from_secs(60), drop);
    assert!(matches!(client.ping().unwrap_err(), ClientError::Io(_)));
    let (_dir, mut client) = client_of(Duration::from_secs(60), |mut stream| {
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"{\"error\":{\"code\":\"busy\",\"message\":\"later\"}}\n").unwrap();
    });
    assert!(matches!(client.ping().unwrap_err(), ClientError::Refused(error) if error.message == "later"));
}

/// A socket at `path` whose listener belongs to another user. `None` without the right to change users.
#[cfg(target_os = "linux")]
fn listener_of_another_user(path: &Path) -> Option<UnixListener> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    let nobody = rustix::process::Uid::from_raw(65_534);
    // The peer of a connection is who called `listen`. Only this thread changes its user.
    let listening = std::thread::spawn(move || {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).ok()?;
        rustix::net::listen(&socket, 8).unwrap();
        Some(UnixListener::from(socket))
    });
    listening.join().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_sends_nothing_to_a_process_of_another_user() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let Some(listener) = listener_of_another_user(&socket) else { return };
    let error = Client::connect_at(&socket, Duration::from_secs(60)).unwrap_err();
    assert!(error.to_string().contains("belongs to another user"), "{error}");
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    assert_eq!(received, b"");
}

#[test]
fn a_client_does_not_connect_where_others_can_replace_the_socket() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let error = Client::connect_at(&socket, Duration::from_secs(60)).unwrap_err();
    assert!(matches!(error, ClientError::Untrusted { .. }), "{error}");
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_fallback_socket_of_another_user_means_that_nothing_runs() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().to_str().unwrap();
    let env = [("HOME", home), ("XDG_RUNTIME_DIR", home)].into_iter().collect();
    let paths = Paths::resolve(&env, None).unwrap();
    let runtime_dir = paths.runtime_socket().parent().unwrap();
    std::fs::create_dir(runtime_dir).unwrap();
    std::fs::set_permissions(runtime_dir, PermissionsExt::from_mode(0o777)).unwrap();
    let _listener = UnixListener::bind(paths.runtime_socket()).unwrap();
    let error = Client::connect(&paths, Duration::from_secs(60)).unwrap_err();
    assert!(matches!(error, ClientError::NotRunning(_)), "{error}");
}
