import Foundation
import Networking

/// Where something is asked that must stay secret: an https URL, or an http one of this machine.
struct ServiceURL: ArgumentValue, Equatable {
    let url: URL
    /// How messages call it: without the query, which may have a secret in it.
    let name: String

    init(argument: String) throws(ValueError) {
        guard let url = URL(string: argument, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            url.user == nil, url.password == nil, url.fragment == nil
        else { throw ValueError(message: "must be an https URL without a password and a fragment") }
        guard origin.scheme == "https" || origin.isLoopback else {
            throw ValueError(message: "must be an https URL; http is for addresses of this machine only")
        }
        self.url = url
        name = argument.prefix { $0 != "?" }.description
    }
}
