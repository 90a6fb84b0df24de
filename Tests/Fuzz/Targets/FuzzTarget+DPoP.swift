import Foundation
import TokenGeneration

extension FuzzTarget {
    /// Three lines: the URL of a request, and the header and the claims of a proof, which are signed here so that what
    /// comes after the signature is reached, too. The last line is also taken for a whole proof.
    static func dpop(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 3 else { return }
        let url = lines[0]
        if let target = HTTPTarget(url) {
            require(HTTPTarget(target.text) == target, "normalizing what is normalized changes it")
            require(HTTPTarget.withoutQuery(url).flatMap(HTTPTarget.init) == target, "the query takes part")
        } else {
            require(HTTPTarget.withoutQuery(url) == nil, "what is no URL has lost its query")
        }
        if let proof = check(lines[2], url: url) {
            require(Seeds.proofs.contains { $0.proof == lines[2] }, "a proof was accepted that nobody signed")
            require(proof.thumbprint == Seeds.proofThumbprint, "the proof has another key")
        }
        // Whatever is signed, a header that is no JSON is refused before anything else.
        guard (try? JSONObject(parsing: Data(lines[1].utf8))) != nil else {
            require(check("\(Base64URL.encode(Array(lines[1].utf8)))..", url: url) == nil, "a header that is no JSON")
            return
        }
        let input = "\(Base64URL.encode(Array(lines[1].utf8))).\(Base64URL.encode(Array(lines[2].utf8)))"
        guard let signature = Seeds.proofSignature(for: input) else { defect("the proof can't be signed") }
        guard let proof = check("\(input).\(Base64URL.encode(signature))", url: url) else { return }
        require(proof.method == "POST", "another method was accepted")
        require(HTTPTarget(proof.url) != nil && HTTPTarget(proof.url) == HTTPTarget(url), "another URL was accepted")
        require(abs(proof.issuedAt.timeIntervalSince(Seeds.proofDate)) <= 120, "another time was accepted")
        require(proof.thumbprint == Seeds.keyThumbprint, "another key was accepted")
        require(!proof.jwtID.isEmpty && !proof.key.algorithm.isSymmetric, "what a proof needs is not there")
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
