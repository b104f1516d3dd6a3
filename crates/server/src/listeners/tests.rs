use super::*;

const EVERYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

fn free() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

fn without_tls(configured: SocketAddr) -> (Listeners, UnboundedReceiver<BoundListener>) {
    Listeners::new(configured, ServeTlsConfig::default(), PathBuf::new())
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/")
}

#[test]
fn a_run_gets_another_port_if_the_configured_one_is_taken() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (registry, mut listeners) = without_tls(taken.local_addr().unwrap());
    assert!(registry.bind_configured().is_err());
    let found = registry.ensure_loopback().unwrap();
    assert_eq!(found, url(listeners.try_recv().unwrap().listener.local_addr().unwrap()));
    assert_eq!(registry.ensure_loopback().unwrap(), found, "the listener is reused");
}

#[test]
fn http_is_opened_on_request_and_only_once() {
    let (configured, other) = (free(), free());
    let (registry, _listeners) = without_tls(configured);
    let open = |address| {
        let (open, is_new) = registry.open(address, None).unwrap();
        (open.url, is_new)
    };
    assert_eq!(open(None), (url(configured), true));
    assert_eq!(open(None), (url(configured), false));
    assert_eq!(open(Some(other)), (url(other), true));
    assert_eq!(open(Some(other)), (url(other), false));
}

#[test]
fn a_restored_run_gets_its_previous_address() {
    let free = free();
    let (registry, mut listeners) = without_tls((Ipv4Addr::LOCALHOST, 0).into());
    let first = registry.ensure_loopback().unwrap();
    let again = registry.ensure_at(free).unwrap();
    assert_eq!(again, url(free));
    assert_eq!(registry.ensure_at(free).unwrap(), again, "already bound");
    assert_eq!(registry.url(), Some(first), "users see the first one");
    assert!(listeners.try_recv().is_ok() && listeners.try_recv().is_ok() && listeners.try_recv().is_err());
    assert!(registry.ensure_at(([192, 0, 2, 1], 80).into()).is_err(), "not for other machines");
}

#[test]
fn an_address_that_other_machines_can_reach_requires_tls() {
    let (registry, mut listeners) = without_tls(EVERYWHERE);
    assert!(matches!(registry.bind_configured(), Err(ListenError::TlsRequired)));
    assert!(listeners.try_recv().is_err(), "nothing is bound");
    let dir = tempfile::tempdir().unwrap();
    let tls = ServeTlsConfig { self_signed: true, ..ServeTlsConfig::default() };
    let (registry, mut listeners) = Listeners::new(EVERYWHERE, tls, dir.path().to_path_buf());
    let open = registry.bind_configured().unwrap();
    assert!(open.url.starts_with("https://") && !open.url.contains("0.0.0.0"), "{open:?}");
    assert!(open.fingerprint.is_some());
    assert!(listeners.try_recv().unwrap().tls.is_some());
    // Agents on this machine do not know the certificate.
    let for_agents = registry.ensure_loopback().unwrap();
    assert!(for_agents.starts_with("http://127.0.0.1:"), "{for_agents}");
    assert!(listeners.try_recv().unwrap().tls.is_none());
    assert_eq!(registry.url(), Some(open.url));
}
