import Testing

@testable import Networking

@Suite("Part files")
struct PartFileTests {
    private func record(boot: String) throws -> PartFile.Record {
        let validator = try #require(ResumeValidator(["ETag": "\"a\""]))
        return PartFile.Record(resource: "r", validator: validator, total: 3000, synchronized: 1000, boot: boot)
    }

    @Test("Every byte is usable if the machine didn't start again")
    func sameBoot() throws {
        #expect(try record(boot: "b").usableCount(of: 2000, boot: "b") == 2000)
    }

    @Test("Only flushed bytes are usable after another boot, or if the boot is unknown", arguments: ["", "other"])
    func otherBoot(_ boot: String) throws {
        #expect(try record(boot: boot).usableCount(of: 2000, boot: "b") == 1000)
        #expect(try record(boot: "b").usableCount(of: 2000, boot: boot) == 1000)
        #expect(try record(boot: "").usableCount(of: 2000, boot: "") == 1000)
        #expect(try record(boot: boot).usableCount(of: 500, boot: "") == 500)
    }
}
