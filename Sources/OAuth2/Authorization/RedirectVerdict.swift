import Networking
import TokenGeneration

/// The decision about a request that a browser, or another program on this machine, sends to a ``LoopbackRedirectReceiver``.
enum RedirectVerdict: Hashable {
    /// It is the answer that is waited for; its query, and whether there is an error in it.
    case answer(query: String, isRefusal: Bool)
    /// It came before anybody waits for an answer.
    case early
    /// It is something else.
    case refused(status: Int)
    /// It would be the answer if its `state` were that of the request.
    case foreign

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - head: The request's head.
    ///   - host: The receiver's address and port: under another name a page elsewhere has led the browser here.
    ///   - path: Where answers come.
    ///   - state: The state of the request that an answer is waited for; `nil` if nobody waits yet.
    /// - Returns: What the receiver answers.
    static func on(_ head: RequestHead, host: String, path: String, state: Secret?) -> Self {
        // A request with a body is no answer.
        guard head.target.hasPrefix("/"), head.headers.values(for: "Host") == [host],
            (try? head.framing(maximumBodySize: 0)) == .length(0)
        else { return .refused(status: 400) }
        let parts = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == path else { return .refused(status: 404) }
        guard head.method == .get else { return .refused(status: 405) }
        let query = parts.count == 2 ? String(parts[1]) : ""
        guard let fields = FormURLEncoded.decode(query) else { return .refused(status: 400) }
        guard let state else { return .early }
        var parameters = fields.map { (name: $0.name, value: $0.value) }
        let responses = fields.filter { $0.name == "response" }
        if responses.count == 1, let token = try? UnverifiedToken(responses[0].value) {
            // Only to tell which request is answered: whoever reads the answer verifies it.
            parameters = token.unverifiedClaims.compactMap { claim in claim.value.string.map { (claim.name, $0) } }
        }
        let states = parameters.filter { $0.name == "state" }.map(\.value)
        guard states.count == 1, Secret(states[0]) == state else { return .foreign }
        return .answer(query: query, isRefusal: parameters.contains { $0.name == "error" })
    }
}
