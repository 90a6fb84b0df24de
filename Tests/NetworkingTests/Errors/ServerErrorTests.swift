import Foundation
import Networking
import TestSupport
import Testing

@Suite("ServerError", .computing)
struct ServerErrorTests {
    @Test("Has the reason, the hash and the parameters for analytics", .shows("3.27"))
    func parameters() {
        let hash = "83766358f64858b51afb745bbdde91bb"
        let error = ServerError(endpoint: "testendpoint", errorCode: 200)
        #expect(error.reason == "server" && error.hash == hash)
        #expect(error.parameters == ["endpoint": "testendpoint", "code": "200", "hash": hash, "reason": "server"])
    }

    @Test(
        "Hashes the code and the endpoint",
        .shows("3.25"),
        arguments: [
            (404, "token", "aa126b3fcee292dea74c2ba702ec2789"),
            (401, "/", "27065eee0f2ee849464cdc986cb43f0e"),
            (500, "users", "bfda7803e66d5edb1a1c29baf036b59a"),
        ]
    )
    func hash(_ code: Int, _ endpoint: String, _ hash: String) {
        #expect(ServerError(endpoint: endpoint, errorCode: code).hash == hash)
    }

    @Test("Has the status and the body under their usual names, and no other reason by default")
    func names() {
        let error = ServerError(endpoint: nil, errorCode: 404, response: Data("no".utf8))
        #expect(error.status == 404 && error.body == Data("no".utf8) && error.authenticationError == nil)
        #expect(ServerError(endpoint: nil, errorCode: 500).body.isEmpty)
    }

    @Test("Has no hash without an endpoint", .shows("3.25"))
    func noEndpoint() {
        let error = ServerError(endpoint: nil, errorCode: 404)
        #expect(error.hash == nil)
        #expect(error.parameters == ["endpoint": "unknown", "code": "404", "hash": "no hash", "reason": "server"])
    }

    @Test("Is an NSError whose code is the status", .shows("3.26"))
    func bridging() {
        let error = ServerError(endpoint: "a", errorCode: 503) as NSError
        #expect(error.code == 503 && error.domain == "Networking.ServerError")
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

@Suite("NetworkError", .computing)
struct NetworkErrorTests {
    @Test("Is equal to an error with the same code")
    func equality() {
        #expect(NetworkError(.timedOut, "one") == NetworkError(.timedOut, "other"))
        #expect(NetworkError(.timedOut, "one") != NetworkError(.closed, "one"))
    }

    @Test("Describes the code, the message and the cause", .shows("4.27"))
    func description() {
        let error = NetworkError(
            .requestNotMade,
            "the request could not be made",
            cause: NetworkError(.tls, "bad chain")
        )
        #expect(error.description == "requestNotMade: the request could not be made (tls: bad chain)")
        #expect(error.localizedDescription == error.description)
    }

    @Test(
        "Has Foundation's error code for the same failure",
        arguments: [
            (.timedOut, .timedOut), (.cannotResolveHost, .cannotFindHost),
            (.cannotConnect, .cannotConnectToHost), (.connectionLost, .networkConnectionLost),
        ] as [(NetworkError.Code, URLError.Code)]
    )
    func number(_ code: NetworkError.Code, _ expected: URLError.Code) {
        #expect(NetworkError(code, "").errorCode == expected.rawValue && NetworkError(code, "").hash == nil)
    }
}

/// Returns the error that an operation throws, or `nil` if it succeeds.
func thrownError<Result>(_ operation: () async throws -> Result) async -> (any Error)? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}

/// Returns the error that an operation throws, or `nil` if it succeeds.
func failure(_ operation: () async throws -> Void) async -> NetworkError? {
    await thrownError(operation).map(networkError)
}

/// Checks that an operation fails with a code, or succeeds for `nil`, and that the error's message
/// contains texts.
@discardableResult
func expectFailure<Result>(
    _ code: NetworkError.Code?,
    mentioning texts: String...,
    comment: Comment = "",
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column,
    _ operation: () async throws -> Result
) async -> NetworkError? {
    let error = await failure { _ = try await operation() }
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    check(error, code, texts, comment, location)
    return error
}

/// Checks that a synchronous operation fails with a code, and that the error's message contains
/// texts.
@discardableResult
func expectThrown<Result>(
    _ code: NetworkError.Code?,
    mentioning texts: String...,
    comment: Comment = "",
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column,
    _ operation: () throws -> Result
) -> NetworkError? {
    var error: NetworkError?
    do { _ = try operation() } catch let thrown { error = networkError(thrown) }
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    check(error, code, texts, comment, location)
    return error
}

/// Checks that an operation fails with the error of a response with this status.
@discardableResult
func expectStatus<Result>(
    _ status: Int,
    comment: Comment = "",
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column,
    _ operation: () async throws -> Result
) async -> ServerError? {
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    let error = await #expect(throws: ServerError.self, comment, sourceLocation: location) { _ = try await operation() }
    #expect(error?.errorCode == status, comment, sourceLocation: location)
    return error
}

/// Checks that no further retry was made for this reason.
func expectReason(
    _ reason: Retry.Error,
    _ outcome: Retry.Outcome?,
    fileID: String = #fileID,
    filePath: String = #filePath,
    line: Int = #line,
    column: Int = #column
) {
    let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    #expect(outcome?.reason?.description == reason.description, sourceLocation: location)
}

private func networkError(_ error: any Error) -> NetworkError {
    error as? NetworkError ?? NetworkError(.unknown, "not a NetworkError: \(error)")
}

private func check(
    _ error: NetworkError?,
    _ code: NetworkError.Code?,
    _ texts: [String],
    _ comment: Comment,
    _ location: SourceLocation
) {
    #expect(error?.code == code, "\(comment) \(error?.description ?? "no error")", sourceLocation: location)
    let missing = texts.filter { error?.message.contains($0) != true }
    #expect(missing.isEmpty, "\(comment) \(error?.description ?? "no error")", sourceLocation: location)
}
