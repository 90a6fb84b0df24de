/// Why bytes are not a request, and the status that says so.
struct RequestFault: Error, Equatable, Sendable {
    let status: Int
    let reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// A fault of the message's syntax.
    init(_ reason: String) {
        self.init(400, reason)
    }
}
