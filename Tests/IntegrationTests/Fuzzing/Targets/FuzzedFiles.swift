import Foundation
import HTTPTypes

@testable import NetworkingCore
@testable import NetworkingInspector
@testable import NetworkingTesting
@testable import NetworkingTransfers

extension FuzzTarget {
    /// Files and stored values.
    static let files = [
        FuzzTarget("stored-request", of: "NetworkingCore/Coding/HTTPRequestData+Codable.swift") { bytes in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            guard let request = try? JSONDecoder().decode(HTTPRequestData.self, from: Data(bytes)) else { return }
            try require(request.authority.map { Authority($0).invalidity == nil } ?? true, "the authority is not valid")
            try require(request.target.map { RequestTarget.isRooted($0) } ?? true, "the target changes the server")
            guard let stored = try? encoder.encode(request) else { return }
            let again = try JSONDecoder().decode(HTTPRequestData.self, from: stored)
            try require(!again.headerFields.contains { $0.isCredential }, "a credential is stored")
            try requireEqual([UInt8](try encoder.encode(again)).text, [UInt8](stored).text, "the request changes")
        },
        FuzzTarget("har", of: "NetworkingInspector/HAR", "NetworkingInspector/Archive/HTTPArchive.swift") { bytes in
            guard let archive = try? HTTPArchive(Data(bytes)) else { return }
            _ = archive.waterfall()
            // Without the number of entries that were skipped, which only the first file has.
            let encoded = try archive.encoded()
            try requireEqual(try HTTPArchive(encoded).encoded(), encoded, "the archive changes")
        },
        FuzzTarget("cassette", of: "NetworkingInspector/HAR") { bytes in
            try withFile(bytes, name: "cassette.har") { path in
                let content: CassetteFile.Content
                do throws(CassetteError) {
                    guard let read = try CassetteFile(linkedFrom: path).read() else {
                        throw CassetteError(reason: "no file")
                    }
                    content = read
                } catch {
                    try require(error.reason.utf8.count <= 4_096, "the reason is long")
                    return
                }
                let interactions = content.har.entries.map { Cassette.Interaction($0, isForeign: !content.isOurs) }
                let encoded = try CassetteFile.encode(interactions.map { $0.entry(redacting: nil) })
                let again = try JSONDecoder().decode(HAR.self, from: encoded)
                try requireEqual(again.entries.count, interactions.count, "interactions are lost")
                try requireEqual(try CassetteFile.encode(again.entries), encoded, "the file changes")
            }
        },
        FuzzTarget("download-state", of: "NetworkingTransfers/Downloads/DownloadState.swift") { bytes in
            try withFile(Array(repeating: 0, count: 10), name: "film.download") { path in
                try Data(bytes).write(to: URL(filePath: path + "-state"))
                guard let record = try? DownloadRecord.read(beside: path) else { return }
                try require(0...10 ~= record.keptBytes(of: 10), "more bytes are kept than there are")
                if let state = try DownloadState(path: path) {
                    try require(0...1 ~= state.fractionCompleted, "the fraction is \(state.fractionCompleted)")
                    try require(state.byteCount <= state.expectedByteCount, "more bytes are kept than expected")
                }
                try record.write(beside: path, isDurable: false)
                try requireEqual(try DownloadRecord.read(beside: path), record, "the record changes")
            }
        },
        FuzzTarget("upload-state", of: "NetworkingTransfers/Uploads/UploadState.swift") { bytes in
            try withFile(bytes, name: "film.upload-state") { path in
                guard let record = try? UploadRecord.read(path) else { return }
                try require(0...record.file.length ~= record.offset, "the offset is outside of the file")
                if let state = try UploadState(at: URL(filePath: path)) {
                    try require(0...1 ~= state.fractionCompleted, "the fraction is \(state.fractionCompleted)")
                    let expires = state.expires?.timeIntervalSince1970 ?? 0
                    try require(expires < 253_402_300_800, "no such year")
                }
                try record.write(path, isDurable: false)
                try requireEqual(try UploadRecord.read(path), record, "the record changes")
            }
        },
        FuzzTarget("upload-reply", of: "NetworkingTransfers/Uploads/UploadReply.swift") { bytes in
            let lines = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            let reply = UploadReply(
                status: 400,
                fields: [UInt8](lines[0]).fields,
                body: lines.count > 1 ? Data(lines[1]) : Data()
            )
            try require(
                reply.offset.map { $0 >= 0 } ?? true && reply.length.map { $0 >= 0 } ?? true,
                "a number is negative"
            )
            let limits = reply.limits
            let numbers = [limits?.maximumSize, limits?.minimumSize, limits?.maximumAppendSize, limits?.maximumAge]
            try require(numbers.allSatisfy { $0.map { $0 >= 0 } ?? true }, "a limit is negative")
            _ = (reply.isComplete, reply.problem, reply.supportsDraft, reply.supportsTus)
        },
    ]
}
