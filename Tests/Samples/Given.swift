// The names that the samples of the documentation use and don't show. `.ci/samples` compiles this
// file with the samples, and never runs it.

import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TokenGeneration

/// Stands for a value of any type.
func given<Value>() -> Value { fatalError("Samples with given values aren't run.") }

// MARK: Requests

var api: URL { given() }
var archive: URL { given() }
var client: NetworkClient { given() }
var file: FileHandle { given() }
var inbox: URL { given() }
var request: URLRequest { given() }
var transport: CurlTransport { given() }
var url: URL { given() }

struct Book: Codable {}

func use(_ data: Data) {}
func useNothing() {}

// MARK: Tokens of OAuth 2

var accessToken: String { given() }
var authentication: any ClientAuthentication { given() }
var authenticator: OAuth2Authenticator { given() }
var idToken: String { given() }
var issuer: String { given() }
var keys: IssuerKeys { given() }
var jwksURL: URL { given() }
var nonce: String { given() }
var oauth: OAuth2Client { given() }
var pem: String { given() }
var secret: String { given() }
var server: AuthorizationServer { given() }
var store: any TokenStore { given() }
var token: Secret { given() }
var tokenEndpoint: URL { given() }

/// Returns the URL that a user's browser is redirected to.
func browser(_ url: URL) async throws -> URL { given() }

// MARK: Signatures and encryption

var document: Data { given() }
var service: ES256SigningService { given() }
var verifier: JWTVerifier { given() }
