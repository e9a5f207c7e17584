import Foundation
import TestSupport

#if AsyncHTTPClient && os(Linux)
import NetworkingAsyncHTTPClient
import NetworkingCore
#endif

extension Requirement {
    static let curl = Requirement(.curl) { FileManager.default.isExecutableFile(atPath: "/usr/bin/curl") }

    #if os(Linux) || os(macOS)
    static let botocore = Requirement(.botocore) { await Python.has("botocore") }
    static let browser = Requirement(.browser) { await Browser.isAvailable }
    static let haralyzer = Requirement(.haralyzer) { await Python.has("haralyzer") }
    static let harSchema = Requirement(.harSchema) { await HARSchema.isAvailable }
    static let messageSignatures = Requirement(.messageSignatures) {
        await Python.has("http_message_signatures.structures, http_sf, cryptography")
    }
    static let multipart = Requirement(.multipart) { await Python.has("python_multipart") }
    static let python = Requirement(.python) { await Python.has("urllib.parse") }
    #endif

    #if URLSession && (os(Linux) || os(macOS))
    static let httpbin = Requirement(.httpbin) { await PythonModules.haveHTTPBin }
    #endif

    #if LoopbackRedirect && URLSession && (os(Linux) || os(macOS))
    static let authlib = Requirement(.authlib) { await PythonModules.haveAuthlib }
    static let oidcProvider = Requirement(.oidcProvider) { await PythonModules.haveProviderMock }
    #endif

    #if AsyncHTTPClient && os(Linux)
    static let compressionLibraries = Requirement(.compressionLibraries) {
        [ContentCoding].systemLibraries.count == 2
    }
    #endif

    #if os(Linux)
    static let compiler = Requirement(.compiler) {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/cc") }
    }
    #endif

    static let cacheTests = Requirement(.cacheTests) { CacheSuite.file != nil }
}
