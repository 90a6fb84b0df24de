/// How large a JSON text may be, so that a text from outside can't exhaust the process.
package struct JSONLimits: Sendable {
    /// The most bytes of the whole text.
    package var size: Int
    /// The most levels of objects and arrays; a flat object has one.
    package var depth = 64
    /// The most members of one object.
    package var members = 1_000

    /// A token's header.
    package static let header = JSONLimits(size: 8_192)
    /// A document that is not part of a token, such as a key set.
    package static let document = JSONLimits(size: 1_048_576)
}
