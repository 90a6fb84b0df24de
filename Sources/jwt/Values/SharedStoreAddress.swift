import Foundation

/// The address of a token store that hosts share: `etcd:` and the URLs of the cluster's members.
struct SharedStoreAddress: ArgumentValue, Equatable {
    /// The URLs of the members.
    let endpoints: [URL]

    /// The address in messages.
    var name: String { "etcd:" + endpoints.map(\.absoluteString).joined(separator: ",") }

    init(argument: String) throws(ValueError) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "etcd", !parts[1].isEmpty else {
            throw ValueError(message: "must be etcd: and the URLs of the cluster's members, separated by commas")
        }
        var endpoints: [URL] = []
        for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
            let url = try ServiceURL(argument: String(part)).url
            guard url.query == nil else { throw ValueError(message: "must have URLs without a query") }
            endpoints.append(url)
        }
        self.endpoints = endpoints
    }
}
