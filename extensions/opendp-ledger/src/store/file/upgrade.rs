//! Upgrades a ledger of version 1, which is a database, to a ledger of lines in the same file.

use opendp_core::Result;

use super::disk::{Disk, damaged};
use super::layout::{Header, Mark, SECTOR, write_line};
use super::state::{write_account, write_entry};
use crate::record::verify;
use crate::store::{Tables, legacy::Legacy};

/// Append all budgets and releases as lines. Then write the new header over the header of the
/// database. The header is one sector. Before the new header is on the disk, the file is a
/// database. Afterwards, the file is a ledger of lines. The inode stays the same, so all names of
/// the file lead to the same ledger.
pub(super) fn upgrade(disk: &mut Disk) -> Result<Header> {
    disk.check_name()?;
    let path = disk.path().to_path_buf();
    let legacy = Legacy::open_alone(&path)?;
    let (mut lines, mut mark) = (Vec::new(), Mark { lines: 0, end: 0, seal: String::new() });
    let mut push = |text: &str| {
        mark.seal = write_line(&mark.seal, text, &mut lines);
        mark.lines += 1;
    };
    legacy.look(&mut |tables: &mut dyn Tables| {
        for account in tables.accounts()? {
            let entries = tables.entries(&account)?;
            verify(&account, &entries)?;
            push(&write_account(&account));
            entries.iter().for_each(|entry| push(&write_entry(entry)));
        }
        Ok(())
    })?;
    let end = disk.length()?;
    if end < SECTOR as u64 {
        return Err(damaged(&path, "it was cut off"));
    }
    let header = Header { mark: end.next_multiple_of(SECTOR as u64) };
    mark.end = header.lines() + lines.len() as u64;
    let written = (|| {
        disk.write(header.lines(), &lines)?;
        disk.write(header.mark, &mark.write())?;
        disk.sync()
    })();
    if let Err(error) = written {
        let _ = disk.cut(end);
        return Err(error);
    }
    // Hold the lock of the database until the new header is on the disk, so that no older program
    // writes to the file.
    disk.write(0, &header.write())?;
    disk.sync()?;
    drop(legacy);
    Ok(header)
}

#[cfg(test)]
mod tests;
