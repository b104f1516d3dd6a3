//! A minimal pass-through proxy with hyper, without inspection.

use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};

pub(crate) fn serve(upstream: &str) {
    let upstream: SocketAddr = upstream.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        crate::process::announce(listener.local_addr().expect("an address"));
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
        loop {
            let (io, _) = listener.accept().await.expect("a connection");
            io.set_nodelay(true).expect("nodelay");
            let client = client.clone();
            let service = service_fn(move |mut request: Request<Incoming>| {
                let client = client.clone();
                async move {
                    let path = request.uri().path_and_query().expect("a path").clone();
                    let uri = Uri::builder().scheme("http").authority(upstream.to_string()).path_and_query(path);
                    *request.uri_mut() = uri.build().expect("a uri");
                    client.request(request).await
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service));
        }
    });
}
