//! Tests a ledger on a server. Each test starts its own server on loopback. If no server is
//! installed, the test prints that it was skipped.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use opendp_ledger::{Ledger, Loss, Request, Terms};
use tempfile::TempDir;

use crate::tight::{
    exact, gaussian, reserve_an_unspent_budget, share_an_unspent_budget, spend, total,
};

/// A server that the test starts in a new folder. The server ends with the test.
struct Server {
    folder: TempDir,
    port: u16,
}
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Debian keeps the programs of the server outside the usual path.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}
/// Prepare a command. If the test runs as the superuser, run the command as another user, because
/// the server refuses to run as the superuser.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::{fs::MetadataExt, process::CommandExt};
        if std::fs::metadata(folder).unwrap().uid() == 0 {
            command.uid(65534).gid(65534);
        }
    }
    command
}
impl Server {
    fn start() -> Option<Self> {
        let (Some(initdb), Some(pg_ctl)) = (program("initdb"), program("pg_ctl")) else {
            eprintln!("SKIPPED, NOT TESTED: there is no PostgreSQL here (initdb, pg_ctl)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(
            folder.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        )
        .unwrap();
        let data = folder.path().join("data");
        let made = command(&initdb, folder.path())
            .args(["-U", "ledger", "--auth=trust", "-E", "UTF8", "--no-locale", "-D"])
            .arg(&data)
            .status()
            .unwrap();
        assert!(made.success(), "initdb");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={}",
            folder.path().display()
        );
        let started = command(&pg_ctl, folder.path())
            .args(["-w", "-t", "60", "-o", &options, "-D"])
            .arg(&data)
            .args(["-l"])
            .arg(folder.path().join("log"))
            .arg("start")
            .status()
            .unwrap();
        assert!(started.success(), "pg_ctl start");
        Some(Server { folder, port })
    }
    fn control(&self, words: &[&str]) {
        let pg_ctl = program("pg_ctl").unwrap();
        let data = self.folder.path().join("data");
        let log = self.folder.path().join("log");
        let mut command = command(&pg_ctl, self.folder.path());
        command.arg("-D").arg(data).arg("-l").arg(log).args(words).status().unwrap();
    }
    fn parameters(&self) -> String {
        format!("host=127.0.0.1 port={} user=ledger dbname=postgres", self.port)
    }
}
impl Drop for Server {
    fn drop(&mut self) {
        self.control(&["-m", "immediate", "stop"]);
    }
}

#[test]
fn a_server_keeps_what_a_file_keeps() {
    let Some(server) = Server::start() else { return };
    let ledger = Ledger::connect(&server.parameters()).unwrap();
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    assert_eq!(ledger.create("b", &Loss::rho("1").unwrap()).unwrap_err().kind(), "Argument");
    let request = |id: &str| Request::of_loss(id, Loss::epsilon("0.1").unwrap()).by("Ada");
    // Several connections compete for ids and for the budget.
    let mut granted = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                let server = &server;
                scope.spawn(move || {
                    let ledger = Ledger::connect(&server.parameters()).unwrap();
                    let mut granted = Vec::new();
                    for i in 0..8 {
                        let id = format!("{}-{i}", thread / 2);
                        let value = thread * 100 + i;
                        match ledger.release("b", &request(&id), || Ok(value)) {
                            Ok(release) => granted.push((id, release.value::<u64>().unwrap())),
                            Err(error) => assert_eq!(error.kind(), "BudgetExceeded"),
                        }
                    }
                    granted
                })
            })
            .collect();
        granted.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    });
    let history = ledger.history("b").unwrap();
    assert_eq!(history.len(), 10);
    for (id, value) in &granted {
        let entry = history.iter().find(|entry| &entry.id == id).unwrap();
        assert_eq!(entry.release, value.to_string());
    }
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon("0").unwrap());
    // A crash of the server loses nothing. The first call after the crash can fail on the closed
    // connection, and a later call connects again.
    server.control(&["-w", "-m", "immediate", "restart"]);
    let mut again = ledger.history("b");
    for _ in 0..3 {
        if again.is_err() {
            again = ledger.history("b");
        }
    }
    assert_eq!(again.unwrap(), history);
    // When the server does not run, nothing is released.
    ledger
        .create("c", &Loss::epsilon("1").unwrap())
        .or_else(|_| ledger.create("c", &Loss::epsilon("1").unwrap()))
        .unwrap();
    server.control(&["-m", "immediate", "stop"]);
    assert!(ledger.release("c", &request("1"), || Ok(1)).is_err());
}
#[test]
fn a_server_keeps_a_tight_budget_that_programs_share_and_never_overspend() {
    let Some(server) = Server::start() else { return };
    let open = || Ledger::connect(&server.parameters()).unwrap();
    open().create_tight("b", &total(), &Terms::new()).unwrap();
    let loss = gaussian(&open(), 20);
    let admitted: usize = std::thread::scope(|scope| {
        let run = |name: usize| {
            let (open, loss) = (&open, loss.clone());
            scope.spawn(move || {
                let ask = |n: &usize| spend(&open(), &format!("{name} {n}"), &loss).is_ok();
                (0..10).filter(ask).count()
            })
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // The `mu^2` of each release is a twentieth of the allowed sum of `mu^2`. So the budget admits
    // 20 releases, although the sum of their epsilons is above 1.
    assert_eq!(admitted, 20);
    let account = open().account("b").unwrap();
    assert_eq!((account.releases, account.to_json()["composition"].as_str()), (20, Some("tight")));
    let spent = account.loss();
    assert!(exact("0.99") < spent.parts()[0] && spent.parts()[0] <= exact("1"), "{spent}");
    // A crash of the server loses nothing: the same filters refuse the next release.
    server.control(&["-w", "-m", "immediate", "restart"]);
    assert_eq!(spend(&open(), "one more", &loss).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(open().account("b").unwrap(), account);
    assert_eq!(open().history("b").unwrap().len(), 20);
    // The seal of a row is a hash. Filters that were changed or removed do not match the seal of
    // their row.
    let mut client = postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    let kept: String = client.query_one("SELECT filters FROM budget", &[]).unwrap().get(0);
    for changed in ["", "{}", &kept.replacen("\"only\":false", "\"only\":true", 1)] {
        client.execute("UPDATE budget SET filters = $1", &[&changed]).unwrap();
        let error = open().account("b").unwrap_err();
        assert!(error.to_string().contains("does not match its seal"), "{changed}: {error}");
    }
    client.execute("UPDATE budget SET filters = $1", &[&kept]).unwrap();
    assert_eq!(open().account("b").unwrap(), account);
}
#[test]
fn a_server_keeps_plans_that_reserve_an_unspent_budget() {
    for charge in [reserve_an_unspent_budget, share_an_unspent_budget] {
        let Some(server) = Server::start() else { return };
        let open = || Ledger::connect(&server.parameters()).unwrap();
        open().create_tight("b", &total(), &Terms::new()).unwrap();
        charge(&open);
        // A crash of the server loses nothing: the budget stays reserved.
        let account = open().account("b").unwrap();
        server.control(&["-w", "-m", "immediate", "restart"]);
        assert_eq!(open().account("b").unwrap(), account);
    }
}
#[test]
fn tables_of_other_programs_are_not_changed() {
    let Some(server) = Server::start() else { return };
    let mut client = postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    for table in ["budget", "spend"] {
        client.batch_execute(&format!("CREATE TABLE {table} (name TEXT, year INT)")).unwrap();
        let error = Ledger::connect(&server.parameters()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{table}` is not a table of a ledger")), "{error}");
        let names = "SELECT relname::text || '.' || attname FROM pg_attribute \
            JOIN pg_class ON pg_class.oid = attrelid \
            WHERE relname IN ('budget', 'spend') AND attnum > 0 ORDER BY attnum";
        let rows = client.query(names, &[]).unwrap();
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, [format!("{table}.name"), format!("{table}.year")]);
        client.batch_execute(&format!("DROP TABLE {table}")).unwrap();
    }
    // The control: without these tables, the ledger is created, and it can be opened again.
    for _ in 0..2 {
        Ledger::connect(&server.parameters()).unwrap();
    }
}
#[test]
fn each_charge_is_durable_behind_a_pooler_of_connections() {
    let Some(server) = Server::start() else { return };
    let mut client = postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    client.batch_execute("ALTER ROLE ledger SET synchronous_commit = off").unwrap();
    let ledger = Ledger::connect(&server.parameters()).unwrap();
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    // A pooler can give each transaction a connection without the settings of the session. Simulate
    // such a connection by a trigger. For each charge, the trigger stores the value of
    // `synchronous_commit`. Then the trigger sets this value to `off` for the session.
    let look = "CREATE TABLE seen (place SERIAL, value TEXT);
        CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO seen (value) VALUES (current_setting('synchronous_commit'));
            PERFORM set_config('synchronous_commit', 'off', false);
            RETURN NEW;
        END $$;
        CREATE TRIGGER look AFTER INSERT ON spend FOR EACH ROW EXECUTE PROCEDURE look();";
    client.batch_execute(look).unwrap();
    for id in ["1", "2", "3"] {
        let request = Request::of_loss(id, Loss::epsilon("0.1").unwrap());
        ledger.release("b", &request, || Ok(1)).unwrap();
    }
    let rows = client.query("SELECT value FROM seen ORDER BY place", &[]).unwrap();
    let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on", "on", "on"]);
    // The control: a client that does not set `synchronous_commit` gets `off` for this user. So a
    // transaction of this client is possibly not durable when its commit returns.
    let mut other = postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    let row = other.query_one("SHOW synchronous_commit", &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "off");
}
/// Two threads charge two budgets in one transaction. A statement about the second budget fails.
/// The server then rolls back both charges, and its answer to `COMMIT` is no error.
#[test]
fn a_failed_statement_of_one_thread_releases_nothing_to_the_others() {
    let Some(server) = Server::start() else { return };
    let ledger = Ledger::connect(&server.parameters()).unwrap();
    for name in ["a", "b"] {
        ledger.create(name, &Loss::epsilon("1").unwrap()).unwrap();
    }
    // Reading the budget `b` fails, but only in a transaction that can write.
    let connect = || postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    let fail = "ALTER TABLE budget RENAME TO kept;
        CREATE FUNCTION fine(name TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$ BEGIN
            IF name = 'b' AND current_setting('transaction_read_only') = 'off' THEN
                RAISE EXCEPTION 'a failure for this test';
            END IF;
            RETURN true;
        END $$;
        CREATE VIEW budget AS SELECT * FROM kept WHERE fine(name);";
    connect().batch_execute(fail).unwrap();
    let release = |name: &str, id: &str| {
        let request = Request::of_loss(id, Loss::epsilon("0.1").unwrap());
        ledger.release(name, &request, || Ok(1))
    };
    // Hold the lock of the writers. Then the first thread waits for this lock, with a transaction
    // that contains only its own charge. The charges of the other two threads wait for the next
    // transaction.
    let mut blocker = connect();
    blocker.execute("SELECT pg_advisory_lock($1)", &[&0x6f70_656e_6470_4c65_i64]).unwrap();
    let soon = || std::thread::sleep(std::time::Duration::from_millis(300));
    let ends = std::thread::scope(|scope| {
        let threads = [("a", "1"), ("a", "2"), ("b", "3")].map(|(name, id)| {
            let release = &release;
            let thread = scope.spawn(move || release(name, id).is_ok());
            soon();
            thread
        });
        blocker.execute("SELECT pg_advisory_unlock_all()", &[]).unwrap();
        threads.map(|thread| thread.join().unwrap())
    });
    // The second and the third charge are in one transaction, so both fail.
    assert_eq!(ends, [true, false, false]);
    let history = ledger.history("a").unwrap();
    let kept = ["1", "2"].map(|id| history.iter().any(|entry| entry.id == id));
    assert_eq!(kept, [ends[0], ends[1]], "each release that was returned is in the ledger");
    // The control: the transaction without the failing statement commits.
    assert!(release("a", "4").is_ok());
    assert!(ledger.history("a").unwrap().iter().any(|entry| entry.id == "4"));
}
#[test]
fn tables_of_an_earlier_version_get_the_column_for_filters() {
    let Some(server) = Server::start() else { return };
    let loss = |epsilon| Loss::epsilon_delta(epsilon, "0").unwrap();
    let ledger = Ledger::connect(&server.parameters()).unwrap();
    ledger.create("sum", &total()).unwrap();
    ledger.release("sum", &Request::of_loss("1", loss("0.5")), || Ok(1)).unwrap();
    drop(ledger);
    let mut client = postgres::Client::connect(&server.parameters(), postgres::NoTls).unwrap();
    client.execute("ALTER TABLE budget DROP COLUMN filters", &[]).unwrap();
    let ledger = Ledger::connect(&server.parameters()).unwrap();
    ledger.create_tight("b", &total(), &Terms::new()).unwrap();
    assert_eq!(ledger.remaining("sum").unwrap(), Loss::epsilon_delta("0.5", "1e-6").unwrap());
    let second = ledger.release("sum", &Request::of_loss("2", loss("0.6")), || Ok(1));
    assert_eq!(second.unwrap_err().kind(), "BudgetExceeded");
}
