//! Listening, serving, and stopping in good order.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use scope::Device;
use tokio::{
    net::TcpListener as Listener,
    runtime,
    sync::Semaphore,
    time::{interval, sleep, timeout},
};

use crate::{
    access::Access,
    body::BodyRoom,
    engine::Queue,
    error::ServeError,
    limits::Limits,
    metrics::Metrics,
    models::Models,
    page,
    routes::{Service, router},
    stream::SharedStream,
};

/// How often it is asked whether to stop.
const WATCH: Duration = Duration::from_millis(100);
/// How long to wait where the system refuses a connection, for want of file handles.
const REFUSED: Duration = Duration::from_millis(100);
/// Problems that go through a network together on a processor. On a GPU every problem goes alone: its products may be
/// computed in another order for another number of problems, and answers are to be the same in every bit.
const TOGETHER_ON_CPU: usize = 8;

/// Where a service listens, and what it allows.
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// What requests must show; without one, only this machine may reach the service.
    pub token: Option<String>,
    /// What is refused because it is too much.
    pub limits: Limits,
}

/// A service that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    engine: JoinHandle<()>,
}

impl Server {
    /// Starts the engine and listens; requests are answered once [`Server::run`] is called.
    pub fn bind(options: Options, models: Models, device: &Device) -> Result<Self, ServeError> {
        let Options { address, token, limits } = options;
        let access = token.as_deref().map(Access::new).transpose()?;
        if access.is_none() && !address.ip().is_loopback() {
            return Err(ServeError::TokenRequired(address));
        }
        let refuse = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(refuse)?;
        listener.set_nonblocking(true).map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        let models = Arc::new(models);
        let metrics = Arc::new(Metrics::default());
        let together = if matches!(device, Device::Cpu(_)) { TOGETHER_ON_CPU } else { 1 };
        let (queue, engine) = Queue::start(limits.queue, together, Arc::clone(&models), Arc::clone(&metrics))
            .map_err(ServeError::Start)?;
        let bodies = BodyRoom::new(&limits);
        let stopping = AtomicBool::new(false);
        let page = page::files();
        let service = Arc::new(Service { models, queue, limits, bodies, metrics, access, stopping, page });
        Ok(Self { listener, address, service, engine })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` says so. What was begun by then is finished, as far as the limit of draining
    /// allows.
    pub fn run(self, stop: impl Fn() -> bool) -> Result<(), ServeError> {
        let Self { listener, service, engine, .. } = self;
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Start)?;
        runtime.block_on(accept_all(listener, Arc::clone(&service), stop)).map_err(ServeError::Start)?;
        // What is still open after draining ends here, and with it all ways to the engine, which then ends itself.
        runtime.shutdown_timeout(Duration::ZERO);
        drop(service);
        // A panic was told on standard error already.
        let _ = engine.join();
        Ok(())
    }
}

/// Takes connections until asked to stop, and then lets them end.
async fn accept_all(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Fn() -> bool,
) -> std::io::Result<()> {
    let listener = Listener::from_std(listener)?;
    let limits = service.limits;
    let room = Arc::new(Semaphore::new(limits.connections));
    let connections = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.arrival);
    let routes = router(Arc::clone(&service));
    let mut watch = interval(WATCH);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &room) => accepted,
            _ = watch.tick() => {
                if stop() { break }
                continue
            }
        };
        let Some((stream, place)) = accepted else {
            sleep(REFUSED).await;
            continue;
        };
        // Answers are written whole: there is nothing to gather small packets for.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(routes.clone());
        let stream = SharedStream::new(stream);
        let connection = http.serve_connection(TokioIo::new(stream.clone()), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            // A connection that broke otherwise has nobody to tell.
            if connection.await.is_err_and(|error| error.is_timeout()) {
                stream.refuse_slow_head(limits.arrival.as_secs());
            }
            drop(place);
        });
    }
    service.stopping.store(true, Ordering::Relaxed);
    drop(listener);
    let _ = timeout(limits.drain, connections.shutdown()).await;
    Ok(())
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &Listener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    Some((stream, place))
}
