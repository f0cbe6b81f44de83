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
    /// Return all cells of a line. Spaces around a cell are removed. A cell that is not UTF-8 is an
    /// empty text.
    pub(crate) fn all(&mut self, line: &[u8]) -> Vec<String> {
        self.all_read(line).into_iter().map(Option::unwrap_or_default).collect()
    }
    /// Return all cells of a line. Spaces around a cell are removed. A cell that is not UTF-8 is
    /// `None`.
    pub(crate) fn all_read(&mut self, line: &[u8]) -> Vec<Option<String>> {
        let mut cells = Vec::new();
        self.visit(line, |cell| {
            cells.push(cell);
            true
        });
        cells
    }
    /// Return the cell at position `index`. Return an empty text if the line has fewer cells, or if
    /// the cell is not UTF-8.
    pub(crate) fn nth(&mut self, line: &[u8], index: usize) -> String {
        let (mut found, mut left) = (String::new(), index);
        self.visit(line, |cell| {
            if left == 0 {
                found = cell.unwrap_or_default();
                return false;
            }
            left -= 1;
            true
        });
        found
    }
    /// Call `visit` with each cell of a line, until `visit` returns false. A cell that is not UTF-8
    /// is `None`.
    fn visit(&mut self, line: &[u8], mut visit: impl FnMut(Option<String>) -> bool) {
        self.parser.reset();
        self.buffer.resize(line.len() + 1, 0);
        let (mut rest, mut written) = (line, 0);
        loop {
            let (result, read, wrote) =
                self.parser.read_field(rest, self.buffer.get_mut(written..).unwrap_or_default());
            (rest, written) = (rest.get(read..).unwrap_or_default(), written + wrote);
            match result {
                // Call the parser again. The rest of the line is then empty, and the parser treats
                // empty input as the end of the line.
                csv_core::ReadFieldResult::InputEmpty => {}
                csv_core::ReadFieldResult::Field { record_end } => {
                    let cell = self.buffer.get(..written).unwrap_or_default();
                    let cell = std::str::from_utf8(cell).ok().map(|cell| cell.trim().to_owned());
                    if !visit(cell) || record_end {
                        return;
                    }
                    written = 0;
                }
                csv_core::ReadFieldResult::OutputFull | csv_core::ReadFieldResult::End => return,
            }
        }
    }
}
