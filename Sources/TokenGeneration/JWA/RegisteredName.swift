/// A name from a registry, such as that of an algorithm, of which the package implements every
/// value of the type.
protocol RegisteredName: RawRepresentable<String>, Hashable, Sendable, CustomStringConvertible {
    /// The values that the package implements.
    static var implemented: [Self] { get }
}

extension RegisteredName {
    /// Creates a value from its name.
    ///
    /// - Parameter rawValue: The case-sensitive name. The result is `nil` for any name that the
    ///   package doesn't implement.
    public init?(rawValue: String) {
        guard let known = Self.implemented.first(where: { rawValue.isExactly($0.rawValue) }) else { return nil }
        self = known
    }

    /// The name.
    public var description: String { rawValue }
}
