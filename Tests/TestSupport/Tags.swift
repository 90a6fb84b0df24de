public import Testing

extension Tag {
    /// State that several threads or tasks share. The gate runs the files of these suites under
    /// ThreadSanitizer.
    @Tag public static var concurrency: Self
}
