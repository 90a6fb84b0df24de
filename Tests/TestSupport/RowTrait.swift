public import Testing

/// Names rows of the pages in Docs, such as `A1`, that a test shows. DocumentationTests reads them
/// in the sources.
public struct RowTrait: TestTrait, SuiteTrait {
    public let rows: [String]
}

extension Trait where Self == RowTrait {
    /// - Parameter rows: The text of each row's first cell, without links and backquotes.
    public static func shows(_ rows: String...) -> Self { Self(rows: rows) }
}
