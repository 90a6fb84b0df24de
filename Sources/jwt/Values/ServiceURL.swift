import Foundation
import Networking

/// The URL of a service that receives secrets: an https URL, or an http URL on this machine.
struct ServiceURL: ArgumentValue, Equatable {
    static let placeholder = "URL"

    let url: URL
    /// The URL in messages, without the query, which may contain a secret.
    let name: String

    init(argument: String) throws(ValueError) {
        guard let url = URL(string: argument, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            url.user == nil, url.password == nil, url.fragment == nil
        else { throw ValueError(message: "must be an https URL without a password or fragment") }
        guard origin.scheme == "https" || origin.isLoopback else {
            throw ValueError(message: "must be an https URL; http is allowed only for this machine")
        }
        self.url = url
        name = argument.prefix { $0 != "?" }.description
    }
}
