import Foundation
import Networking
import Testing

@Suite("ServerError")
struct ServerErrorTests {
    @Test("Has the reason, the hash and the parameters for analytics")
    func parameters() {
        let error = ServerError(endpoint: "testendpoint", errorCode: 200)
        #expect(error.reason == "server")
        #expect(error.hash == "83766358f64858b51afb745bbdde91bb")
        #expect(
            error.parameters == [
                "endpoint": "testendpoint", "code": "200", "hash": "83766358f64858b51afb745bbdde91bb",
                "reason": "server",
            ]
        )
    }

    @Test(
        "Hashes the code and the endpoint",
        arguments: [
            (404, "token", "aa126b3fcee292dea74c2ba702ec2789"),
            (401, "/", "27065eee0f2ee849464cdc986cb43f0e"),
            (500, "users", "bfda7803e66d5edb1a1c29baf036b59a"),
        ]
    )
    func hash(_ code: Int, _ endpoint: String, _ hash: String) {
        #expect(ServerError(endpoint: endpoint, errorCode: code).hash == hash)
    }

    @Test("Has no hash without an endpoint")
    func noEndpoint() {
        let error = ServerError(endpoint: nil, errorCode: 404)
        #expect(error.hash == nil)
        #expect(error.parameters == ["endpoint": "unknown", "code": "404", "hash": "no hash", "reason": "server"])
    }

    @Test("Is an NSError whose code is the status")
    func bridging() {
        #expect((ServerError(endpoint: "a", errorCode: 503) as NSError).code == 503)
        #expect((ServerError(endpoint: "a", errorCode: 503) as NSError).domain == "Networking.ServerError")
    }

    @Test("Shows the status and the endpoint, but never the body")
    func description() {
        let error = ServerError(endpoint: "token", errorCode: 400, response: Data("s3cret".utf8))
        #expect(error.description == "the server answered 400 to “token”")
        #expect(error.localizedDescription == error.description)
        #expect(!"\(error) \(String(reflecting: error))".contains("s3cret"))
        #expect(ServerError(endpoint: nil, errorCode: 500).description == "the server answered 500")
    }
}

@Suite("NetworkError")
struct NetworkErrorTests {
    @Test("Is equal to an error with the same code")
    func equality() {
        #expect(NetworkError(.timedOut, "one") == NetworkError(.timedOut, "other"))
        #expect(NetworkError(.timedOut, "one") != NetworkError(.cancelled, "one"))
    }

    @Test("Describes the code, the message and the cause")
    func description() {
        let error = NetworkError(
            .requestNotMade,
            "the request could not be made",
            cause: NetworkError(.tls, "bad chain")
        )
        #expect(error.description == "requestNotMade: the request could not be made (tls: bad chain)")
        #expect(error.localizedDescription == error.description)
    }

    @Test("Has Foundation's error code for the same failure")
    func number() {
        #expect(NetworkError(.timedOut, "").errorCode == URLError.Code.timedOut.rawValue)
        #expect(NetworkError(.cancelled, "").errorCode == URLError.Code.cancelled.rawValue)
        #expect(NetworkError(.cannotResolveHost, "").errorCode == URLError.Code.cannotFindHost.rawValue)
        #expect(NetworkError(.cannotConnect, "").errorCode == URLError.Code.cannotConnectToHost.rawValue)
        #expect(NetworkError(.connectionLost, "").errorCode == URLError.Code.networkConnectionLost.rawValue)
        #expect(NetworkError(.cannotConnect, "").hash == nil)
    }
}
