/// The maximum size of a JSON text, so that an untrusted text can't exhaust the process.
package struct JSONLimits: Sendable {
    /// The maximum size of the whole text in bytes.
    package var size: Int
    /// The maximum nesting depth of objects and arrays; a flat object has depth 1.
    package var depth = 64
    /// The maximum number of members in one object.
    package var members = 1_000

    /// The limits for a token's header.
    package static let header = JSONLimits(size: 8_192)
    /// The limits for a document that isn't part of a token, such as a key set.
    package static let document = JSONLimits(size: 1_048_576)
}
