// Unpacks Chromium below TMPDIR and starts it once.
import chromium from "@sparticuz/chromium";
import { chromium as driver } from "playwright-core";

const browser = await driver.launch({ executablePath: await chromium.executablePath(), args: chromium.args });
await browser.close();
