import Foundation
import Networking
import Testing

@testable import WorkloadIdentity

@Suite("WorkloadIdentityError")
struct WorkloadIdentityErrorTests {
    @Test("Describes the step, the code, the message and the cause")
    func description() {
        let cause = NetworkError(.timedOut, "too slow")
        let error = WorkloadIdentityError(.platformUnavailable, .request, "no response", status: 503, cause: cause)
        #expect(error.description == "request: platformUnavailable: no response (\(cause))")
        #expect(error.localizedDescription == error.description)
        #expect(error == WorkloadIdentityError(.platformUnavailable, .read, ""))
        #expect(error != WorkloadIdentityError(.platformRejected, .request, "no response"))
    }

    @Test("Only an unavailable platform is worth repeating")
    func retryable() {
        let codes: [WorkloadIdentityError.Code] = [
            .notConfigured, .unreadableFile, .insecureFile, .tooLarge, .malformedToken, .wrongAudience, .expiredToken,
            .rejectedToken, .insecureEndpoint, .platformUnavailable, .platformRejected, .invalidResponse,
            .ambiguousIdentity, .invalidConfiguration,
        ]
        #expect(Set(codes.map(\.description)).count == codes.count)
        for code in codes {
            let error = WorkloadIdentityError(code, .read, "")
            #expect(error.isRetryable == (code == .platformUnavailable))
            #expect(error.isUnchangedToken == (code == .rejectedToken))
        }
    }
}
