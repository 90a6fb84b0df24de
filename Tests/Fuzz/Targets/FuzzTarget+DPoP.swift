import Foundation
import TokenGeneration

extension FuzzTarget {
    /// Checks three lines: a request's URL, and a proof's header and claims.
    ///
    /// They are signed here, so the checks after the signature are reached, too. The last line is
    /// also verified as a complete proof.
    static func dpop(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 3 else { return }
        let url = lines[0]
        if let target = HTTPTarget(url) {
            require(HTTPTarget(target.text) == target, "normalization isn't idempotent")
            require(HTTPTarget.withoutQuery(url).flatMap(HTTPTarget.init) == target, "the query affects the target")
        } else {
            require(HTTPTarget.withoutQuery(url) == nil, "withoutQuery accepts an invalid URL")
        }
        if let proof = check(lines[2], url: url) {
            require(Seeds.proofs.contains { $0.proof == lines[2] }, "an unsigned proof was accepted")
            require(proof.thumbprint == Seeds.proofThumbprint, "the proof has another key")
        }
        // A header that isn't JSON is rejected before the signature is verified.
        guard (try? JSONObject(parsing: Data(lines[1].utf8))) != nil else {
            require(check("\(Base64URL.encode(Array(lines[1].utf8)))..", url: url) == nil, "the header isn't JSON")
            return
        }
        let input = "\(Base64URL.encode(Array(lines[1].utf8))).\(Base64URL.encode(Array(lines[2].utf8)))"
        guard let signature = Seeds.proofSignature(for: input) else { defect("the proof can't be signed") }
        guard let proof = check("\(input).\(Base64URL.encode(signature))", url: url) else { return }
        require(proof.method == "POST", "another method was accepted")
        require(HTTPTarget(proof.url) != nil && HTTPTarget(proof.url) == HTTPTarget(url), "another URL was accepted")
        require(abs(proof.issuedAt.timeIntervalSince(Seeds.proofDate)) <= 120, "another time was accepted")
        require(proof.thumbprint == Seeds.keyThumbprint, "another key was accepted")
        require(!proof.jwtID.isEmpty && !proof.key.algorithm.isSymmetric, "a required part of the proof is missing")
    }

    private static func check(_ proof: String, url: String) -> DPoPProof? {
        try? Seeds.proofVerifier.verifySkippingReplayCheck(
            proof,
            method: "POST",
            url: url,
            for: .tokenEndpoint,
            nonce: .notRequired
        )
    }
}
