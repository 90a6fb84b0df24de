/// The way in which the JSON values of a stream are separated.
public struct JSONFraming: Sendable, Hashable {
    enum Wrapped: Sendable, Hashable { case lines, textSequence, concatenated, arrayElements }

    let wrapped: Wrapped

    /// One value per line, as in [NDJSON](https://github.com/ndjson/ndjson-spec) and
    /// [JSON Lines](https://jsonlines.org).
    ///
    /// Blank lines are skipped, and the last line needs no line feed.
    public static let lines = Self(wrapped: .lines)
    /// Values that follow a record separator each
    /// ([RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)), with the type `application/json-seq`.
    ///
    /// A number, `true`, `false` or `null` must end with white space, because it could otherwise be
    /// truncated.
    public static let textSequence = Self(wrapped: .textSequence)
    /// Values that follow each other, with or without white space.
    public static let concatenated = Self(wrapped: .concatenated)
    /// The elements of one array, which is the whole body.
    public static let arrayElements = Self(wrapped: .arrayElements)

    /// The media types to request.
    var accept: String {
        switch wrapped {
        case .lines: "application/x-ndjson, application/jsonl"
        case .textSequence: "application/json-seq"
        case .concatenated, .arrayElements: "application/json"
        }
    }
}
