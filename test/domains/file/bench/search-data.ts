export type QueryKind = 'keywords' | 'paraphrase' | 'language';

/** A passage, and a query that only this passage answers. Some passages have no query and stand in the way of others. */
export interface Labelled {
  text: string;
  keywords?: string;
  paraphrase?: string;
  language?: string;
}

/** Written for this benchmark: a household, an office, a workshop, a town. Many passages share their words with others. */
export const ENGLISH: readonly Labelled[] = [
  {
    text: 'The boiler model VX-220 shows error F28 when the gas valve does not open. Close the main valve, wait ten minutes and press reset.',
    keywords: 'error F28',
  },
  {
    text: 'The boiler model VX-240 shows error F29 when the flame goes out during operation. Check the supply pressure before pressing reset.',
    keywords: 'VX-240 reset',
  },
  {
    text: 'Radiators that stay cold at the top have air in them. Open the small screw with a key until water comes out.',
    paraphrase: 'heater only warm at the bottom',
  },
  {
    text: 'The filter of the ventilation unit is to be replaced every six months, or as soon as the red lamp lights up.',
    keywords: 'ventilation filter',
  },
  {
    text: 'Descale the coffee machine with citric acid once a month. Vinegar damages the seals of the pump.',
    keywords: 'citric acid pump',
  },
  {
    text: 'To stop the tap from dripping, shut off the water, unscrew the handle and put in a new rubber washer.',
    paraphrase: 'how to fix a leaking faucet',
  },
  {
    text: 'The washing machine does not spin when the load is uneven. Spread the laundry in the drum and start the programme again.',
    paraphrase: 'clothes come out soaking wet',
  },
  {
    text: 'A blown fuse leaves half of the flat in the dark. Switch off all devices before you put in a new one of 16 amperes.',
    paraphrase: 'the lights went out in several rooms',
  },
  {
    text: 'Mould on the bathroom wall comes from moist air. Open the window wide for five minutes after each shower.',
    paraphrase: 'black spots because of humidity',
  },
  {
    text: 'The smoke detector chirps once a minute when its battery is low. It takes a nine volt block.',
    keywords: 'nine volt',
  },
  {
    text: 'The induction hob switches itself off after ninety seconds without a pot. The display then shows a dash.',
    keywords: 'induction hob dash',
  },
  {
    text: 'Defrost the freezer before the ice is thicker than a finger, because ice makes it use more electricity.',
    paraphrase: 'reduce the power consumption of the icebox',
  },
  {
    text: 'Invoice 2024-0815 of the Lindqvist company covers forty hours of consulting and is payable within thirty days.',
    keywords: 'invoice 2024-0815',
  },
  {
    text: 'Invoice 2024-0816 of the Lindqvist company covers travel to the trade fair and is payable at once.',
    keywords: 'Lindqvist travel',
  },
  {
    text: 'Employees hand in receipts for meals and trains by the fifth of the following month. Later claims are paid with the next salary.',
    paraphrase: 'when do I get my business expenses back',
  },
  {
    text: 'Every employee has thirty days of leave a year. Days that are not taken by the end of March are lost.',
    paraphrase: 'how much vacation am I entitled to',
  },
  {
    text: 'Whoever falls ill calls the team before nine and brings a doctor’s note from the third day on.',
    paraphrase: 'reporting sick',
  },
  {
    text: 'The probation period lasts six months. During this time either side may end the contract with two weeks of notice.',
    keywords: 'probation period',
  },
  {
    text: 'Working from home is possible on two days a week if the supervisor agrees. Meetings with clients take place in the office.',
    paraphrase: 'remote work rules',
  },
  {
    text: 'Overtime is to be approved beforehand. It is paid with a supplement of twenty-five percent or given back as time off.',
    paraphrase: 'compensation for extra hours',
  },
  {
    text: 'The printer on the second floor takes toner cartridge TN-3480. Empty cartridges go into the green box.',
    keywords: 'TN-3480',
  },
  {
    text: 'The printer on the third floor takes toner cartridge TN-3512 and staples of type K.',
    keywords: 'staples type K',
  },
  {
    text: 'Visitors sign in at reception, wear a badge and are accompanied as long as they are in the building.',
    paraphrase: 'what guests have to do when they arrive',
  },
  {
    text: 'Passwords have at least fourteen characters and are never shared. A forgotten one is replaced by the help desk within an hour.',
    paraphrase: 'I cannot log in to my account any more',
  },
  {
    text: 'Report suspicious mail to the security team and do not open its attachments. A stolen laptop is to be reported at once.',
    paraphrase: 'phishing message received',
  },
  {
    text: 'Backups run every night at two. The tapes of the last seven days are in the safe, older ones at the bank.',
    paraphrase: 'where are the copies of our data stored',
  },
  {
    text: 'The meeting rooms are booked in the calendar. A room that nobody enters in fifteen minutes is free for others.',
    keywords: 'meeting rooms calendar',
  },
  {
    text: 'The fire drill takes place on the first Tuesday in May. Leave by the stairs and gather at the car park.',
    paraphrase: 'emergency evacuation exercise',
  },
  {
    text: 'The first aid kit hangs beside the kitchen door. Plasters that were used are written into the book.',
    keywords: 'plasters',
  },
  {
    text: 'Parking permits cost twenty euros a month and are tied to the number plate. Electric cars charge for free.',
    keywords: 'parking permits',
  },
  {
    text: 'To make sourdough bread, feed the starter in the evening, knead in the morning and bake for fifty minutes at 230 degrees.',
    paraphrase: 'recipe for a loaf with natural leaven',
  },
  {
    text: 'The pizza dough rests in the fridge for two days. Bake it on a hot stone, as hot as the oven can be.',
    keywords: 'pizza stone',
  },
  {
    text: 'For tomato soup, roast the tomatoes with garlic, blend them with stock and season with basil and a little sugar.',
    keywords: 'tomato basil stock',
  },
  {
    text: 'Boil the eggs for six minutes and put them into cold water, so that the yolk stays soft.',
    paraphrase: 'runny yellow centre at breakfast',
  },
  {
    text: 'Rice is rinsed until the water is clear and simmers in one and a half times its amount of water.',
    keywords: 'rinsed rice',
  },
  {
    text: 'Whip the cream only until it holds its form, because beating it longer turns it into butter.',
    paraphrase: 'dairy topping became lumpy',
  },
  {
    text: 'Mushrooms are brushed and not washed, since they soak up water. Fry them hot and salt them at the end.',
    keywords: 'mushrooms fry',
  },
  {
    text: 'The apple cake keeps fresh for three days under a bell. Cinnamon and lemon zest go into the crumble.',
    keywords: 'cinnamon crumble',
  },
  {
    text: 'Jam sets when a drop on a cold plate wrinkles. Fill it into hot jars up to the rim.',
    paraphrase: 'preserving fruit in glasses',
  },
  {
    text: 'Chop the onions at the last moment with a sharp knife, and fewer tears will come.',
    paraphrase: 'avoid crying while cooking',
  },
  {
    text: 'Prune the roses in spring when the forsythia blooms. Cut a finger above an outward bud.',
    keywords: 'forsythia',
  },
  {
    text: 'Sow carrots thinly in rows and cover them with fleece against the carrot fly.',
    keywords: 'carrot fly fleece',
  },
  {
    text: 'Slugs stay away from beds with a copper fence. Collect them in the evening after rain.',
    paraphrase: 'protect lettuce from snails',
  },
  {
    text: 'The lawn is cut to four centimetres once a week. In a drought it may grow longer, so that the soil stays moist.',
    paraphrase: 'how short should the grass be in a dry summer',
  },
  {
    text: 'Compost needs air, moisture and both green and brown material. Turn the heap twice a year.',
    paraphrase: 'rotting kitchen waste into fertile soil',
  },
  {
    text: 'Tomatoes like it sunny and sheltered from rain. Pinch out the side shoots every week.',
    keywords: 'side shoots',
  },
  {
    text: 'Plant tulip bulbs in autumn, twice as deep as they are high, with the tip upwards.',
    keywords: 'tulip bulbs',
  },
  {
    text: 'The hedge may not be cut back between March and September, because birds nest in it.',
    paraphrase: 'trimming bushes is forbidden in the breeding season',
  },
  { text: 'Rain barrels are emptied before the first frost, or they burst.', keywords: 'rain barrels frost' },
  { text: 'Bees find food in lavender, thyme and borage from May on.', paraphrase: 'flowers for pollinating insects' },
  { text: 'Train IC 537 leaves at 8:14 from platform 5 and needs a reservation in summer.', keywords: 'IC 537' },
  {
    text: 'Train IC 539 leaves at 10:14 from platform 7. It has a dining car but no bicycle places.',
    keywords: 'platform 7 dining car',
  },
  {
    text: 'Bus line 12 runs every ten minutes until midnight and every half hour at night.',
    paraphrase: 'public transport after dark',
  },
  {
    text: 'Children under six travel free of charge, older ones up to fourteen pay half.',
    paraphrase: 'ticket price for kids',
  },
  {
    text: 'A train that is more than an hour late gives you a quarter of the fare back, and half after two hours.',
    paraphrase: 'refund because of a delay',
  },
  {
    text: 'The ferry to the island does not sail when the wind is stronger than force eight.',
    paraphrase: 'boat cancelled because of a storm',
  },
  {
    text: 'Lost property is kept for three months at the counter in the main station.',
    paraphrase: 'I left my umbrella on the tram',
  },
  {
    text: 'Hand luggage may weigh eight kilograms. Liquids go into a clear bag of one litre.',
    paraphrase: 'what may I carry into the cabin of the plane',
  },
  {
    text: 'The passport must be valid for six months beyond the journey. A visa is issued within ten working days.',
    keywords: 'visa working days',
  },
  {
    text: 'The toll for the bridge is paid online up to two days after the crossing with the code on the receipt.',
    keywords: 'bridge toll',
  },
  {
    text: 'Adults should get a tetanus booster every ten years, and after a dirty wound if the last was more than five years ago.',
    keywords: 'tetanus booster',
  },
  {
    text: 'Drink a lot and rest when you have a fever. See a doctor if it stays above 39 degrees for three days.',
    paraphrase: 'high body temperature what to do',
  },
  {
    text: 'For a nosebleed, sit upright, lean forward and press the nostrils together for ten minutes.',
    keywords: 'nosebleed nostrils',
  },
  {
    text: 'Cool a burn under running water for ten minutes and do not put any butter or flour on it.',
    paraphrase: 'touched a hot pan and the skin hurts',
  },
  {
    text: 'Ibuprofen is taken with food and not together with blood thinners unless a physician agrees.',
    keywords: 'ibuprofen',
  },
  {
    text: 'Sleep comes easier in a dark and cool room without a telephone beside the bed.',
    paraphrase: 'tips against insomnia',
  },
  {
    text: 'Sit with both feet on the floor and the screen at eye level to spare the back.',
    paraphrase: 'ergonomic posture at the desk',
  },
  {
    text: 'Teeth are brushed twice a day for two minutes, and the spaces between them once with floss.',
    keywords: 'floss',
  },
  {
    text: 'A tick is pulled out straight with tweezers. A red ring around the bite is a reason to see a doctor.',
    keywords: 'tick tweezers',
  },
  {
    text: 'Hay fever begins with the hazel in February. Dry the laundry indoors and wash your hair in the evening.',
    paraphrase: 'pollen allergy',
  },
  {
    text: 'The town council decided to build a swimming pool with two basins by 2027 for nine million.',
    keywords: 'council swimming pool',
  },
  {
    text: 'The library lends books for four weeks and films for one. Each day late costs twenty cents.',
    paraphrase: 'fee for returning a novel after the deadline',
  },
  {
    text: 'The market takes place on Saturday from seven to one in front of the town hall, in winter in the hall.',
    keywords: 'market Saturday',
  },
  {
    text: 'Paper is collected on every second Wednesday. Cartons are to be folded and put into the blue bin.',
    paraphrase: 'disposal of cardboard',
  },
  {
    text: 'Dogs are kept on a lead in parks and their dirt is to be removed. The tax is 96 euros a year.',
    paraphrase: 'rules for walking a pet',
  },
  {
    text: 'The register office issues birth certificates for twelve euros. Bring an identity card.',
    keywords: 'birth certificates',
  },
  {
    text: 'Noise is to be avoided between ten in the evening and six in the morning, and drilling on Sundays altogether.',
    paraphrase: 'quiet hours for neighbours',
  },
  {
    text: 'The museum shows the work of the painter Amalia Thornquist until November. Admission is free on Thursdays.',
    keywords: 'Thornquist',
  },
  {
    text: 'The choir rehearses on Monday evening in the parish hall and seeks tenors and basses.',
    paraphrase: 'singing together with others',
  },
  {
    text: 'The volunteer fire brigade trains young people from ten years on, every Friday at the station.',
    keywords: 'volunteer brigade young',
  },
  {
    text: 'Glue the dowels, clamp the boards for an hour and sand them with grain 120 and then 240.',
    keywords: 'dowels grain 240',
  },
  {
    text: 'Drill a pilot hole before you drive a screw into hard wood, or the wood will split.',
    paraphrase: 'timber cracks near the edge',
  },
  {
    text: 'Change the saw blade only when the plug is pulled. The teeth point in the direction of rotation.',
    keywords: 'saw blade teeth',
  },
  {
    text: 'Varnish dries for twelve hours between coats in a room free of dust.',
    paraphrase: 'waiting time before painting a second layer',
  },
  {
    text: 'The bicycle chain is cleaned with a cloth and oiled link by link. Too much oil collects dirt.',
    keywords: 'bicycle chain',
  },
  {
    text: 'Mend a flat tyre with a patch: roughen the tube, spread the rubber solution, wait and press.',
    paraphrase: 'repairing a puncture',
  },
  {
    text: 'Brake pads are worn when less than a millimetre is left. Replace both sides at once.',
    keywords: 'brake pads millimetre',
  },
  {
    text: 'The car battery gives up in the cold. Connect the red cable first when you get a jump start.',
    paraphrase: 'vehicle does not start in winter',
  },
  { text: 'Winter tyres carry the snowflake sign and need a tread of four millimetres.', keywords: 'snowflake tread' },
  {
    text: 'Engine oil is checked on level ground ten minutes after the drive. It belongs between the two marks.',
    paraphrase: 'lubricant level of the motor',
  },
  {
    text: 'Savings in an instant access account earn two percent and are insured up to a hundred thousand euros.',
    paraphrase: 'interest on money that I can withdraw at any time',
  },
  {
    text: 'The mortgage is fixed at 3.4 percent for ten years, with free extra payments of five percent a year.',
    keywords: 'mortgage fixed',
  },
  {
    text: 'The liability insurance covers damage that you do to others, up to ten million, but not to rented cars.',
    keywords: 'liability insurance rented',
  },
  {
    text: 'Block a stolen bank card at once under the number on its back. Until then you bear up to fifty euros of the loss.',
    paraphrase: 'somebody took my credit card',
  },
  {
    text: 'The tax return is due by the end of July. An adviser gets time until February.',
    keywords: 'tax return July',
  },
  {
    text: 'Rent may be raised by at most fifteen percent in three years, and the letter must give the reasons.',
    paraphrase: 'landlord wants more money for the apartment',
  },
];

export const GERMAN: readonly Labelled[] = [
  {
    text: 'Die Hausordnung verbietet das Grillen auf den Balkonen. Im Innenhof darf bis zweiundzwanzig Uhr gegrillt werden.',
    language: 'Grill auf dem Balkon',
  },
  {
    text: 'Fahrräder werden im Keller abgestellt. In den Treppenhäusern versperren sie die Fluchtwege.',
    language: 'Fahrrad im Treppenhaus',
  },
  {
    text: 'Der Schornsteinfeger kommt im Oktober und prüft die Abgase der Heizungsanlagen.',
    language: 'Schornsteinfeger Termin Heizungsanlage',
  },
  {
    text: 'Die Nebenkosten werden jährlich abgerechnet. Widersprüche sind innerhalb von zwölf Monaten möglich.',
    language: 'Abrechnung der Nebenkosten widersprechen',
  },
  { text: 'Wer auszieht, streicht die Wände weiß und gibt alle Schlüssel zurück.', language: 'Schlüssel beim Auszug' },
  {
    text: 'Haustiere sind erlaubt, wenn sich die Nachbarn nicht beschweren. Für Hunde gilt Leinenzwang.',
    language: 'Haustier Nachbar',
  },
  {
    text: 'Die Kündigung muss schriftlich erfolgen und bis zum dritten Werktag eines Monats eingehen.',
    language: 'schriftliche Kündigungen Werktage',
  },
  { text: 'Die Wäscheküche steht jeder Partei an zwei Tagen der Woche zur Verfügung.', language: 'Wäscheküchen' },
  {
    text: 'Zum Apfelstrudel werden die Äpfel dünn gehobelt und mit Rosinen und Bröseln vermischt.',
    language: 'Strudel mit Apfel und Rosine',
  },
  { text: 'Der Rotkohl schmort zwei Stunden mit Nelken und einem Schuss Essig.', language: 'Nelke Rotkohl' },
  {
    text: 'Knödel ziehen in siedendem Wasser, bis sie an die Oberfläche steigen. Das Wasser darf nicht kochen.',
    language: 'Knodel im Wasser',
  },
  {
    text: 'Für die Brühe werden Knochen und Gemüse drei Stunden lang ausgekocht und dann abgeseiht.',
    language: 'Brühe aus Knochen und Gemüsen',
  },
  {
    text: 'Der Wanderweg zur Hütte ist im Winter wegen Lawinengefahr gesperrt.',
    language: 'gesperrte Wanderwege Lawine',
  },
  {
    text: 'Die Seilbahn fährt bei Gewitter nicht. Fahrkarten behalten ihre Gültigkeit.',
    language: 'Seilbahnen bei Gewittern',
  },
  {
    text: 'Der Reisepass wird in sechs Wochen ausgestellt, gegen Aufpreis in drei Tagen.',
    language: 'Ausstellung des Reisepasses',
  },
  {
    text: 'Verspätete Züge berechtigen zu einer Entschädigung von einem Viertel des Fahrpreises.',
    language: 'Zug verspätet Entschädigungen',
  },
  { text: 'Das Freibad öffnet im Mai. Schüler zahlen den ermäßigten Eintritt.', language: 'ermässigt für Schüler' },
  {
    text: 'Der Gemeinderat beschloss den Bau einer Grundschule mit acht Klassenzimmern.',
    language: 'Grundschulen Klassenzimmer',
  },
  {
    text: 'Die Feuerwehr übt am ersten Samstag des Monats um elf Uhr, dann heulen die Sirenen.',
    language: 'Sirene Übung',
  },
  {
    text: 'Sperrmüll wird nach Anmeldung abgeholt. Kühlschränke gehören auf den Wertstoffhof.',
    language: 'Kühlschrank entsorgen Wertstoffhöfe',
  },
  { text: 'Die Volkshochschule bietet Kurse in Töpfern, Spanisch und Buchhaltung an.', language: 'Kurs Töpfern' },
  {
    text: 'Der Arzt verschreibt ein Antibiotikum nur bei bakteriellen Entzündungen.',
    language: 'Antibiotikum bakterielle Entzündung',
  },
  { text: 'Bei Zahnschmerzen am Wochenende hilft der Notdienst der Zahnärzte.', language: 'Zahnarzt Notdienste' },
  {
    text: 'Die Sparkasse erhebt für Überweisungen auf Papier eine Gebühr von zwei Euro.',
    language: 'Gebühren Überweisung',
  },
];
