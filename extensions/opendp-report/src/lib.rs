//! Writes pages about private releases. A page is one self-contained HTML file with charts.
//!
//! A [`Page`] has facts and [`Section`]s. A section has charts, tables and texts. The page needs no
//! network and no script. The page contains its style, and its charts are SVG. People can read the
//! page on a phone, in light and dark mode, and on paper.
//!
//! Every text is escaped, so names from data files cannot change the page. This crate cannot check
//! whether a text or a number is private. So show only releases and public facts.
//!
//! ```
//! use opendp_report::{Block, Page, Point, Section};
//!
//! let bars = vec![
//!     Point::new("f", 412.0).within(406.0, 418.0),
//!     Point::new("m", 388.0).within(382.0, 394.0),
//! ];
//! let page = Page::new("People by sex")
//!     .fact("Privacy loss", "epsilon 0.5")
//!     .with(Section::new("Counts").with(Block::Bars(bars)));
//! let html = page.to_html();
//! assert!(html.starts_with("<!DOCTYPE html>"));
//! assert!(html.contains("noise added; 95 % interval"));
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

mod axis;
mod bars;
mod budget;
mod columns;
mod number;
mod output;
mod page;
mod table;
mod text;

pub use budget::{Account, Spent};
pub use number::number;
pub use output::{check_writable, is_pipe_or_device, is_same_file, resolved};
pub use page::{Block, Page, Point, Section};
pub use table::Table;
pub use text::{escaped, visible};
