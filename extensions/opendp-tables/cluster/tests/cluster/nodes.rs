//! Nodes that run as child processes. When a test ends, its child processes end too.

use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opendp_cluster::{Address, Cluster};
use opendp_tables::Session;

/// The longest time for a statement. This time is long, because a lost node can delay the result.
const LIMIT: Duration = Duration::from_secs(100);
/// Only one cluster runs at a time, so that the tests also work on a small machine.
static ONE: Mutex<()> = Mutex::new(());
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A node. The node ends when this value is dropped. If the process of the tests is killed, the
/// input of the node ends. Then the node also ends.
pub(crate) struct Node {
    process: Child,
    /// The first line that the node printed.
    pub(crate) greeting: String,
}
impl Node {
    fn start(args: &[&str]) -> Node {
        let mut process = Command::new(env!("CARGO_BIN_EXE_opendp-cluster"))
            .args(args)
            .arg("--watch-input")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut greeting).unwrap();
        let node = Node { process, greeting };
        assert!(node.greeting.contains("listening on"), "{args:?}");
        let mut warning = String::new();
        output.read_line(&mut warning).unwrap();
        assert!(warning.contains("There are no passwords"), "{warning}");
        node
    }
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
    /// Stop the process without ending it. The stopped process behaves like a process whose machine
    /// is lost.
    pub(crate) fn freeze(&self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }
    /// Close the input of the process, and wait until the process has ended.
    pub(crate) fn close(&mut self) {
        self.process.wait().unwrap();
    }
    /// Send the process a signal to end, and wait until it has ended.
    pub(crate) fn end(&mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        // `wait` would close the input of the process, and the closed input would also end the
        // process. So take the input out before the wait.
        let input = self.process.stdin.take();
        self.process.wait().unwrap();
        drop(input);
    }
}
impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A scheduler, and two executors with a folder each.
pub(crate) struct Nodes {
    pub(crate) scheduler: Node,
    pub(crate) executors: Vec<Node>,
    pub(crate) address: Address,
    folders: Vec<tempfile::TempDir>,
    _guard: MutexGuard<'static, ()>,
}
impl Nodes {
    pub(crate) fn start() -> Nodes {
        let guard = alone();
        let scheduler = Node::start(&["scheduler", "--port", "0", "--executors", "2"]);
        let address = scheduler.greeting.trim().rsplit(' ').next().unwrap().to_owned();
        let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
        let start = |folder: &tempfile::TempDir| {
            let folder = folder.path().to_str().unwrap();
            let args = ["executor", "--scheduler", &address, "--cores", "2", "--folder", folder];
            Node::start(&args)
        };
        let executors = folders.iter().map(start).collect();
        let address: Address = address.parse().unwrap();
        Nodes { scheduler, executors, address, folders, _guard: guard }
    }
    /// Connect as soon as both executors are ready.
    pub(crate) fn connect(&self, limit: Duration) -> Cluster {
        let connected = || Cluster::connect(&self.address, limit).ok();
        // The number of parts is the number of cores of all executors together.
        waited("both executors", connected).divided(NonZeroUsize::new(4).unwrap())
    }
    pub(crate) fn open(&self, config: &Path) -> Session {
        let engine = Box::new(self.connect(LIMIT));
        Session::open_on(config, engine).unwrap()
    }
    /// Return the files in which an executor keeps intermediate results.
    pub(crate) fn files(&self, executor: usize) -> Vec<PathBuf> {
        files(self.folders[executor].path())
    }
    /// Return the folder in which an executor makes its own folder.
    pub(crate) fn folder(&self, executor: usize) -> &Path {
        self.folders[executor].path()
    }
}
/// Return all files below a folder. Leave out files that are removed during the search.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}
/// Wait until `find` returns a value. After about 300 s, panic, so that a test cannot hang.
pub(crate) fn waited<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(found) = find() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited too long for {what}")
}
