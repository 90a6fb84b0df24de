// A double of swift-log 1.8 with the declarations that samples use. `.ci/samples` compiles
// them, and never runs it.

public struct Logger: Sendable {
    public typealias Metadata = [String: MetadataValue]

    public struct Message: ExpressibleByStringInterpolation, Sendable {
        public init(stringLiteral value: String) {}
    }

    public struct MetadataValue: ExpressibleByStringInterpolation, Sendable {
        public init(stringLiteral value: String) {}
    }

    public func notice(
        _ message: @autoclosure () -> Message,
        metadata: @autoclosure () -> Metadata? = nil,
        source: @autoclosure () -> String? = nil,
        file: String = #fileID,
        function: String = #function,
        line: UInt = #line
    ) {}
}
