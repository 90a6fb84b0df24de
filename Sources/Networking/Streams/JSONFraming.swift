/// The way in which the JSON values of a stream are separated.
@nonexhaustive
public enum JSONFraming: Sendable {
    /// One value per line, as in [NDJSON](https://github.com/ndjson/ndjson-spec) and
    /// [JSON Lines](https://jsonlines.org).
    ///
    /// Blank lines are skipped, and the last line needs no line feed.
    case lines
    /// Values that follow a record separator each
    /// ([RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)), with the type `application/json-seq`.
    ///
    /// A number, `true`, `false` or `null` must end with white space, because it could otherwise be
    /// truncated.
    case textSequence
    /// Values that follow each other, with or without white space.
    case concatenated
    /// The elements of one array, which is the whole body.
    case arrayElements

    /// The media types to request.
    var accept: String {
        switch self {
        case .lines: "application/x-ndjson, application/jsonl"
        case .textSequence: "application/json-seq"
        case .concatenated, .arrayElements: "application/json"
        }
    }
}
