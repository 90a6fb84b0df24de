import Foundation
import Networking
import OAuth2
import TokenGeneration

struct Settings: Sendable {
    let api: URL
    let server: AuthorizationServer
    let clientID: String
    let keyPEM: String
}
