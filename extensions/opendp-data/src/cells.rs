//! Splits a line of CSV into cells.

/// A splitter of lines into cells.
pub(crate) struct Cells {
    parser: csv_core::Reader,
    buffer: Vec<u8>,
}
impl Cells {
    pub(crate) fn new(separator: u8) -> Self {
        let parser = csv_core::ReaderBuilder::new().delimiter(separator).build();
        Cells { parser, buffer: Vec::new() }
    }
    /// Return all cells of a line. Spaces around a cell are removed. A cell that is not UTF-8 is
    /// `None`.
    pub(crate) fn all(&mut self, line: &[u8]) -> Vec<Option<String>> {
        let mut cells = Vec::new();
        self.visit(line, usize::MAX, |_, cell| cells.push(cell.map(str::to_owned)));
        cells
    }
    /// Call `visit` with the position and the text of each of the first `limit` cells of a line.
    pub(crate) fn visit(
        &mut self,
        line: &[u8],
        limit: usize,
        mut visit: impl FnMut(usize, Option<&str>),
    ) {
        self.parser.reset();
        self.buffer.resize(line.len() + 1, 0);
        let (mut rest, mut written, mut place) = (line, 0, 0);
        while place < limit {
            let (result, read, wrote) =
                self.parser.read_field(rest, self.buffer.get_mut(written..).unwrap_or_default());
            (rest, written) = (rest.get(read..).unwrap_or_default(), written + wrote);
            match result {
                // Call the parser again. The rest of the line is then empty, and the parser treats
                // empty input as the end of the line.
                csv_core::ReadFieldResult::InputEmpty => {}
                csv_core::ReadFieldResult::Field { record_end } => {
                    let cell = self.buffer.get(..written).unwrap_or_default();
                    visit(place, std::str::from_utf8(cell).ok().map(str::trim));
                    if record_end {
                        return;
                    }
                    (place, written) = (place + 1, 0);
                }
                csv_core::ReadFieldResult::OutputFull | csv_core::ReadFieldResult::End => return,
            }
        }
    }
}

/// The texts of a column. All texts share one buffer.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    buffer: String,
    ends: Vec<usize>,
}
impl Texts {
    /// Set the text of row `row`. Earlier rows without a text get an empty text.
    pub(crate) fn set(&mut self, row: usize, text: &str) {
        self.ends.resize(row, self.buffer.len());
        self.buffer.push_str(text);
        self.ends.push(self.buffer.len());
    }
    /// List the texts of the rows. Rows without a text at the end get an empty text.
    pub(crate) fn list(&self, rows: usize) -> Vec<&str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let text = |(start, end): (&usize, &usize)| self.buffer.get(*start..*end);
        let mut texts: Vec<&str> =
            starts.zip(&self.ends).map(|ends| text(ends).unwrap_or_default()).collect();
        texts.resize(rows, "");
        texts
    }
}
