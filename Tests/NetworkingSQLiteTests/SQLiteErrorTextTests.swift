#if SQLite
import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingSQLite

/// The texts of the errors of a cache file that an app can show to its user.
@Suite
struct SQLiteErrorTextTests {
    private static let file = URL(filePath: "/home/emily/responses.sqlite")

    @Test(arguments: [
        SQLiteCacheError.damaged(movedTo: file), .damaged(movedTo: nil), .newer(file: file, format: 9),
        .full(file: file), .busy(file: file), .unusable(reason: "\(file.path) is a directory."),
    ])
    func errorDescriptionNamesNoFile(error: SQLiteCacheError) {
        #expect(error.errorDescription == "Saved data could not be read or written.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
        #expect(error.description != error.errorDescription)
        #expect(error.failureReason?.hasPrefix("The file of the saved data is damaged or in use") == true)
        #expect(error.recoverySuggestion == "Check the free space on this device and try again.")
    }

    @Test func catalogueHasTheTextsOfTheCode() throws {
        let texts = SQLiteCacheError.unusable(reason: "").textsByKey
        #expect(try StringCatalogue().english(of: ["cache"]) == texts)
    }
}
#endif
