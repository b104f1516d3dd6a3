//! The minimum cost of a hop: copies bytes between sockets without parsing.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};

pub(crate) fn serve(upstream: &str) {
    let upstream: SocketAddr = upstream.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        crate::process::announce(listener.local_addr().expect("an address"));
        loop {
            let (mut client, _) = listener.accept().await.expect("a connection");
            client.set_nodelay(true).expect("nodelay");
            tokio::spawn(async move {
                let mut model = TcpStream::connect(upstream).await.expect("the model");
                model.set_nodelay(true).expect("nodelay");
                // Either side may close first.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut model).await;
            });
        }
    });
}
